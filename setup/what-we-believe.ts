import { PXE_ENTRANCES } from '../netboot/serve-pxe.ts';
import { entranceTable, type StartedDatagramServer } from '../orchestrator-stub/open-entrances.ts';
import { SYSLOG_ENTRANCE } from '../orchestrator-stub/syslog/syslog-server.ts';

/** Every server of datagrams. A test looks at the sockets that the commands really open. */
export const DATAGRAM_SERVERS: readonly StartedDatagramServer[] = [
  ...PXE_ENTRANCES.map((server) => ({
    server,
    startedBy: 'with `kindling serve --pxe`, `kindling pxe` and `kindling mirror --pxe`',
  })),
  { server: SYSLOG_ENTRANCE, startedBy: 'with `kindling serve --syslog`' },
];

/** docs/explanation/what-we-believe.md: the rule in words, and the entrances as the routers have them. */
export function whatWeBelievePage(): string {
  return `# What we believe

There is one rule: **what arrives without a proof is a claim.** A claim is shown as a claim. It is
never an identity, an address, template text, shell text, a file name, or the log of a known node.

A proof is one of these: the token of a person whose [role](../reference/roles.md) allows the call, a
node's token, a person's sign-in for the machine it was made at, a key of 128 bits that only one node
was given, or a signature by a key of the site.

What follows from the rule:

- **Identity comes from the operator.** A registration holds what the operator said. What a machine
  said before, or what somebody said in its name, is kept beside it. Names and ids of registered
  nodes come before what strangers call themselves, and what is ambiguous is an error.
- **Addresses come from the site.** A node is told the site's public address, or a name in the
  server's certificate, never what a caller wrote into \`Host\` or \`:authority\`.
- **Values stay values.** Facts of a node have a strict pattern and a length before they reach a
  template; everything that reaches a shell goes through one quoting function; what reaches a
  terminal loses its control characters.
- **Nobody takes back what an operator did.** A deauthorized node stays out, no matter who asks. A wrong
  serial in a node's name is shown and locks nobody out. Recovery keys are added, never replaced.
- **One proof opens one thing.** A node's token opens that node's workflow. A sign-in opens the
  machine it was made at, ends after a day or with its password, and its refresh token works once.
  First boot, recovery key and neighbors have a key each.
- **Everything has a limit**, per address and in all, and a full list evicts strangers, never
  registered nodes. A fault in a handler is logged and ends nothing.
- **A certificate that signs itself proves nothing.** \`kindling certificate verify\` without a key
  says so and ends with 4.

## Every open entrance

These are all the entrances of \`kindling serve\` that ask for no token when the site has TLS. The
table is made from the routers and the servers of datagrams (\`node setup/reference-pages.ts\`); a
test calls every gRPC method without a token and fails when one answers that is not in it, and
another compares the UDP ports that the commands open with it.

${entranceTable(DATAGRAM_SERVERS)}

The plain port beside TLS serves the two file addresses and nothing else. With \`--plain\` there is
no TLS: the API asks everybody but programs on the same machine for a person's token, and gRPC
asks nobody. That is for a laptop and a lab.

## What is argued, not closed

- **The clock.** A Micro-OS without a right clock cannot check certificates, so it takes the time
  from the first server that answers: never before its build, never ten years after. A liar can make checked
  connections fail. It can also make a certificate good again that ended after the build. Keys that
  were stolen are therefore retired by rotation (\`kindling build site --rotate\`), not by waiting.
- **Secrets at rest.** Node secrets, recovery keys and rendered workflows are in clear in
  \`kindling.sqlite\`. The file has mode 0600 in a folder with mode 0700. Anyone who can read it owns the
  site; encryption with a key in the same folder would change nothing. Encrypt the server's disk.
- **A person's password at a console.** It is typed on a machine that nobody has checked. A stolen
  password signs in elsewhere and lets in machines there. It reads no other machine's workflow,
  takes over no system in use, and ends when the password is changed. Register nodes instead.
- **UUID and serial number.** Until a node is provisioned, anyone who says both gets what the node
  would get. See [identity](identity.md) and [SECURITY.md](../../SECURITY.md).
- **The recovery key of a disk and the local user's programs.** \`tpm2-initramfs-tool\` takes the key
  as an argument. It runs in the Micro-OS, where root is the only user; a foreign container that is
  given \`pid: host\` by its workflow could read it. With \`KINDLING_SEAL=boot\` a mutable system keeps
  its key in \`/etc/kindling/disk.key\` inside the encrypted root, to seal it anew after updates; its
  root user could read the disk anyway.
`;
}
