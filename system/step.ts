/** Shows a long step while it runs: what it is and how long it has taken; `say` tells how far it is. */
export async function step<T>(
  title: string,
  work: (say: (progress: string) => void) => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  const isTerminal = process.stderr.isTTY;
  let progress = '';
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;
  const show = () => {
    const line = `▸ ${title}${progress ? ` · ${progress}` : ''} · ${seconds()}`;
    process.stderr.write(isTerminal ? `\r\x1b[K${line}` : `${line}\n`);
  };
  if (!isTerminal) process.stderr.write(`▸ ${title}\n`);
  const ticker = setInterval(show, isTerminal ? 1000 : 20_000);
  const clearLine = isTerminal ? '\r\x1b[K' : '';
  try {
    const result = await work((text) => {
      progress = text;
      if (isTerminal) show();
    });
    process.stderr.write(`${clearLine}✔ ${title} · ${seconds()}\n`);
    return result;
  } catch (thrown) {
    process.stderr.write(`${clearLine}✘ ${title} · ${seconds()}\n`);
    throw thrown;
  } finally {
    clearInterval(ticker);
  }
}
