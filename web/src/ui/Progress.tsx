/** `Progress` is a bar with its share in words. */
export function Progress({ share, label }: { share: number; label: string }) {
  const text = `${Math.floor(100 * share)} %`;
  return (
    <span class="progress">
      <progress value={share} max={1} aria-label={label}>
        {text}
      </progress>
      <span class="number">{text}</span>
    </span>
  );
}
