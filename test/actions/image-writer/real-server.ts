import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { waitFor } from '../../../system/wait.ts';

export interface RealServer extends AsyncDisposable {
  httpPort: number;
  httpsPort: number;
  /** The certificate of the site's own authority, PEM. */
  ca: string;
  certificate: string;
  key: string;
}

/** User and password of `/basic/`, token of `/bearer/`. */
export const CREDENTIALS = { username: 'node', password: 'p@ss:word', token: 'site-token' } as const;

/** nginx as a site would run it: TLS by a CA of its own, password, token, Content-Encoding, redirects. */
export async function startRealServer(files: Record<string, Buffer>): Promise<RealServer> {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-nginx-'));
  chmodSync(folder, 0o755);
  const sh = (command: string) => execFileSync('bash', ['-ec', command], { cwd: folder, stdio: 'pipe' });
  sh(`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 -subj '/CN=site CA'
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr -subj '/CN=images.site.test'
printf 'subjectAltName=DNS:images.site.test,DNS:localhost,IP:127.0.0.1' > san
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 30 -extfile san
echo "${CREDENTIALS.username}:$(openssl passwd -apr1 '${CREDENTIALS.password}')" > users`);
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
  const [httpPort = 0, httpsPort = 0] = await freePorts(2);
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; user root; pid ${folder}/pid; error_log ${folder}/log;
events { worker_connections 64; }
http { access_log off; default_type application/octet-stream; root ${folder};
  server {
    listen 127.0.0.1:${httpPort}; listen 127.0.0.1:${httpsPort} ssl;
    ssl_certificate server.pem; ssl_certificate_key server.key;
    location /basic/ { alias ${folder}/; auth_basic site; auth_basic_user_file users; }
    location /bearer/ { alias ${folder}/; if ($http_authorization != "Bearer ${CREDENTIALS.token}") { return 401; } }
    location /encoded/ { alias ${folder}/; add_header Content-Encoding gzip; }
    location /moved/ { rewrite ^/moved/(.*)$ /$1?signature=a%20b redirect; }
    location /downgrade/ { rewrite ^/downgrade/(.*)$ http://127.0.0.1:${httpPort}/$1 redirect; }
    location /circle { return 302 /circle; }
  } }\n`,
  );
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await waitFor(() => (existsSync(join(folder, 'pid')) ? true : undefined), {
    name: 'nginx',
    timeoutMs: 30_000,
  });
  return {
    httpPort,
    httpsPort,
    ca: readFileSync(join(folder, 'ca.pem'), 'utf8'),
    certificate: readFileSync(join(folder, 'server.pem'), 'utf8'),
    key: readFileSync(join(folder, 'server.key'), 'utf8'),
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}

export interface ForwardProxy {
  url: string;
  /** One line per request that came through: its method, target and credentials. */
  seen: string[];
  close: () => void;
}

/** A forward proxy: plain requests by their absolute address, TLS by CONNECT. */
export async function startProxy(resolve: (host: string) => number): Promise<ForwardProxy> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '');
    const login = request.headers['proxy-authorization'] ?? '';
    seen.push(`${request.method} ${url.host}${url.pathname} ${login}`.trim());
    const socket = connect(resolve(url.host), '127.0.0.1', () => {
      const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
      socket.write(`${request.method} ${url.pathname} HTTP/1.1\r\n${headers.join('')}\r\n`);
    });
    response.socket?.on('close', () => socket.destroy());
    socket.on('error', () => response.destroy());
    if (response.socket) socket.pipe(response.socket);
  });
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim());
    const upstream = connect(resolve(request.url ?? ''), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await new Promise((ready) => server.once('listening', ready));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The same proxy behind TLS, with the site's certificate. */
export async function startSecureProxy(
  { certificate, key }: RealServer,
  proxy: ForwardProxy,
): Promise<AsyncDisposable & { url: string }> {
  const server = createTlsServer({ cert: certificate, key }, (socket) => {
    const inner = connect(Number(new URL(proxy.url).port), '127.0.0.1');
    socket.pipe(inner).pipe(socket);
    socket.on('error', () => inner.destroy());
    inner.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await new Promise((ready) => server.once('listening', ready));
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((each) => new Promise((resolve) => each.once('listening', resolve))));
  const ports = servers.map((each) => (each.address() as AddressInfo).port);
  await Promise.all(servers.map((each) => new Promise((resolve) => each.close(resolve))));
  return ports;
}
