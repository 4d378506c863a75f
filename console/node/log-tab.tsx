import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LogLineAnswer } from '../api/answers.ts';
import { many } from '../words/amounts.ts';
import { plainText } from '../words/plain-text.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
/** Drawn at once; a search looks through all. */
const SHOWN_LINES = 1000;

/** The log as it comes: search, level, and whether the newest line stays in view. */
export function LogTab({ lines, name }: { lines: ReadonlySignal<readonly LogLineAnswer[]>; name: string }) {
  const [search, setSearch] = useState('');
  const [level, setLevel] = useState('trace');
  const [isFollowing, setFollowing] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const fitting = lines.value.filter((line) => fits(line, search, level));
  const shown = fitting.slice(-SHOWN_LINES);
  const newest = shown.at(-1);
  useEffect(() => {
    if (isFollowing) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [isFollowing, newest]);
  return (
    <>
      <div class="log-tools">
        <input
          type="search"
          aria-label="Search the log"
          placeholder="Search the log"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <select
          aria-label="Least level"
          value={level}
          onChange={({ currentTarget }) => setLevel(currentTarget.value)}
        >
          <option value="trace">Every level</option>
          <option value="warn">Warnings and errors</option>
          <option value="error">Errors</option>
        </select>
        <label class="follow">
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={({ currentTarget }) => setFollowing(currentTarget.checked)}
          />{' '}
          Follow
        </label>
        <button type="button" onClick={() => download(`${name}.log`, lines.peek())}>
          Download
        </button>
        <span class="count" role="status">
          {many(fitting.length, 'line')}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keys */}
      <div class="log" ref={box} role="log" aria-label="Log" aria-live="off" tabIndex={0}>
        {shown.map((line) => (
          <Line key={`${line.stream} ${line.sequence}`} line={line} />
        ))}
        {shown.length === 0 && <p class="quiet">No line{search === '' ? ' yet' : ' fits'}.</p>}
      </div>
    </>
  );
}

function Line({ line }: { line: LogLineAnswer }) {
  return (
    <p class={`line ${levelOf(line)}`}>
      <time dateTime={line.time}>{new Date(line.time).toLocaleTimeString()}</time>{' '}
      <span class="level">{plainText(line.level, 8)}</span> <bdi>{plainText(line.message, 4000)}</bdi>
    </p>
  );
}

function fits(line: LogLineAnswer, search: string, level: string): boolean {
  return (
    LEVELS.indexOf(levelOf(line)) >= LEVELS.indexOf(level) &&
    (search === '' || line.message.toLowerCase().includes(search.toLowerCase()))
  );
}

function levelOf({ level }: LogLineAnswer): string {
  const lower = level.toLowerCase();
  return LEVELS.includes(lower) ? lower : lower.startsWith('warn') ? 'warn' : 'info';
}

function download(file: string, lines: readonly LogLineAnswer[]): void {
  const text = lines.map(({ time, level, message }) => `${time} ${level} ${message}\n`).join('');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.download = file;
  link.click();
  URL.revokeObjectURL(link.href);
}
