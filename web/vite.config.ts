/** Vite builds the dashboard into the package `api`, which serves it. */
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const MOST_KB_GZIP = 120;

/** Fails the build when all JavaScript together is larger than `MOST_KB_GZIP`. */
function budget(): Plugin {
  return {
    name: "budget",
    generateBundle(_, bundle) {
      const bytes = Object.values(bundle).reduce(
        (sum, file) => sum + (file.type === "chunk" ? gzipSync(file.code).length : 0),
        0,
      );
      if (bytes > MOST_KB_GZIP * 1000)
        this.error(
          `the JavaScript is ${bytes} bytes after gzip; at most ${MOST_KB_GZIP} kB are allowed`,
        );
      console.log(`JavaScript: ${(bytes / 1000).toFixed(1)} kB gzip of at most ${MOST_KB_GZIP}`);
    },
  };
}

export default defineConfig({
  plugins: [budget()],
  build: {
    outDir: "../api/static/dashboard",
    emptyOutDir: true,
    target: "es2022",
    // Nothing is inlined: the service's Content-Security-Policy allows its own files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
