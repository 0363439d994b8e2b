/** `Confirm` is a dialog that asks before an action that cannot be taken back. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Confirm({
  title,
  act,
  children,
  close,
}: {
  title: string;
  act: () => void;
  children: ComponentChildren;
  close: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title">
      <h2 id="confirm-title">{title}</h2>
      {children}
      <div class="buttons">
        <button onClick={() => dialog.current?.close()}>Cancel</button>
        <button
          class="danger"
          onClick={() => {
            act();
            dialog.current?.close();
          }}
        >
          {title}
        </button>
      </div>
    </dialog>
  );
}
