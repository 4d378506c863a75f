import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface Tab {
  name: string;
  show: () => ComponentChildren;
}

/** Sheets behind each other; the arrow keys turn them (WAI-ARIA Authoring Practices, "Tabs"). */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const [open, setOpen] = useState(0);
  const turn = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    const next = (open + by + tabs.length) % tabs.length;
    setOpen(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={turn}>
        {tabs.map(({ name }, index) => (
          <button
            key={name}
            id={`tab-${index}`}
            type="button"
            role="tab"
            aria-selected={index === open}
            aria-controls="sheet"
            tabIndex={index === open ? 0 : -1}
            onClick={() => setOpen(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id="sheet" class="sheet" role="tabpanel" aria-labelledby={`tab-${open}`}>
        {tabs[open]?.show()}
      </div>
    </>
  );
}
