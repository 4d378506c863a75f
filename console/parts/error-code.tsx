import { useState } from 'preact/hooks';
import { ERROR_CODES } from '../../protocol/error-codes.ts';
import { Dialog } from './dialog.tsx';

interface Meaning {
  meaning: string;
  hint: string;
}

const MEANINGS: Readonly<Record<string, Meaning>> = ERROR_CODES;

/** The code of a reason, small; a tap says what it means in general. */
export function ErrorCode({ code }: { code: string | null }) {
  const [isOpen, setOpen] = useState(false);
  if (!code) return null;
  const known = MEANINGS[code];
  if (!known) return <code class="code">{code}</code>;
  return (
    <>
      <button type="button" class="code" onClick={() => setOpen(true)}>
        {code}
      </button>
      {isOpen && (
        <Dialog title={code} onClose={() => setOpen(false)}>
          <p>{known.meaning}</p>
          <p>{known.hint}</p>
          <form method="dialog" class="choices">
            <button type="submit">Close</button>
          </form>
        </Dialog>
      )}
    </>
  );
}
