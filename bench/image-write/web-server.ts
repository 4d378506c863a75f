import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../system/wait.ts';
import { cleanUpAtExit } from '../clean-up.ts';

export interface WebServer {
  url: string;
  stop: () => Promise<void>;
}

/** nginx over a folder, on a port of its own: a server that is no bottleneck. */
export async function startNginx(folder: string, address = '127.0.0.1'): Promise<WebServer> {
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  const own = join(folder, `nginx-${port}`);
  mkdirSync(own, { recursive: true }); // a run that was killed may have left it, in a folder that is kept
  const config = join(own, 'nginx.conf');
  writeFileSync(
    config,
    `daemon off; worker_processes 1; pid ${own}/pid; error_log ${own}/log;
events { worker_connections 256; }
http { access_log off; log_not_found off; keepalive_requests 1000000; sendfile on; tcp_nopush on;
server { listen ${address}:${port}; root ${folder}; } }\n`,
  );
  // nginx gives up its rights; the folder has to let its worker in
  execFileSync('chmod', ['755', folder]);
  const child = spawn('nginx', ['-c', config], { stdio: 'ignore' });
  const isUndone = cleanUpAtExit(() => child.kill());
  const url = `http://${address}:${port}`;
  await waitFor(async () => ((await fetch(url).catch(() => undefined))?.status === 403 ? true : undefined), {
    name: 'nginx',
    timeoutMs: 10_000,
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill();
    isUndone();
    await exited; // it removes its pid file first
    rmSync(own, { recursive: true });
  };
  return { url, stop };
}
