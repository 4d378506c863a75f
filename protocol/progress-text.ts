import type { ProgressEvent } from './action-events.ts';

/**
 * How an action goes as one text. Both dialects of Tinkerbell carry nothing else, and a person reads it at the other end:
 *
 *     stage [ " " percent " %" ] [ " · " seconds " s left" ] { " · " figure " " value }
 */
export interface Progress {
  /** What is being done, for a person. */
  doing: string;
  percent: number | null;
  secondsLeft: number | null;
  /** Of the image, as it fills the disk. */
  bytesPerSecond: number | null;
}

const MAX_CHARACTERS = 500;
const SEPARATOR = ' · ';
const SHARE = /^(.*\S) (\d{1,3}) %$/;
const LEFT = /^(\d{1,9}) s left$/;
const RATE = /^rawRate (\d{1,15})$/;

/** `writing image 42 % · 180 s left · rate 210 MB/s` */
export function encodeProgress({ stage, percent, etaSeconds, figures }: ProgressEvent): string {
  const share = percent === undefined ? '' : ` ${Math.floor(percent)} %`;
  const left = etaSeconds === undefined ? [] : [`${Math.ceil(etaSeconds)} s left`];
  const facts = Object.entries(figures ?? {}).map(([name, value]) => `${name} ${value}`);
  return [`${stage}${share}`, ...left, ...facts].join(SEPARATOR).slice(0, MAX_CHARACTERS);
}

/** Of another agent's text only what it does is known. */
export function decodeProgress(text: string): Progress {
  const [first = '', ...facts] = text.split(SEPARATOR);
  const [, doing, share] = SHARE.exec(first) ?? [];
  const figure = (pattern: RegExp) => {
    const found = facts.map((fact) => pattern.exec(fact)?.[1]).find((value) => value !== undefined);
    return found === undefined ? null : Number(found);
  };
  return {
    doing: (doing ?? first).slice(0, MAX_CHARACTERS),
    percent: share === undefined ? null : Math.min(100, Number(share)),
    secondsLeft: figure(LEFT),
    bytesPerSecond: figure(RATE),
  };
}
