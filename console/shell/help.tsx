import { Dialog } from '../parts/dialog.tsx';
import { isHelpOpen, KEYS } from './keys.ts';

export function Help() {
  if (!isHelpOpen.value) return null;
  const close = () => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title="Keys" onClose={close}>
      <dl class="keys">
        {KEYS.map(({ shown, does }) => (
          <div key={shown}>
            <dt>
              <kbd>{shown}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="choices">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}
