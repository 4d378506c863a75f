import { useComputed } from '@preact/signals';
import { nowMs } from '../live/clock.ts';
import { ago, exactTime, secondsBetween } from '../words/time.ts';

/** "2 min ago", exact on hover. Only the text changes, and only when its words do. */
export function Ago({ at }: { at: string }) {
  const words = useComputed(() => ago(secondsBetween(at, nowMs.value)));
  return (
    <time dateTime={at} title={exactTime(at)}>
      {words}
    </time>
  );
}
