import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { decideProject } from '../../../orchestrator-stub/grpc/project.ts';

const OWN = '11111111-2222-3333-4444-555555555555';
const OTHER = '99999999-2222-3333-4444-555555555555';

test.each([
  ['no roles are asked for', undefined, undefined, { id: OWN, isAllowed: true }],
  ['a person who may onboard', undefined, [`${OWN}_en-ob`], { id: OWN, isAllowed: true }],
  ['a node', undefined, ['rs-access-r', `${OWN}_en-agent-rw`], { id: OWN, isAllowed: true }],
  ['a role that may only look', undefined, [`${OWN}_x-en-ob-r`], { id: OWN, isAllowed: false }],
  ['a header that is no UUID is not looked at', 'x', [`${OWN}_en-ob`], { id: OWN, isAllowed: true }],
  ['a header names the project', OTHER, [`${OWN}_en-ob`, `${OTHER}_en-ob`], { id: OTHER, isAllowed: true }],
  ['a header names a foreign project', OTHER, [`${OWN}_en-ob`], { id: OTHER, isAllowed: false }],
])('row: project of a call, %s', (_case, active, roles, outcome) => {
  expect(decideProject(active, roles, OWN)).toEqual(outcome);
});

test.each([
  ['roles of two projects', [`${OWN}_en-ob`, `${OTHER}_en-ob`], /single Project/],
  ['no role of any project', ['rs-access-r'], /no project/],
  ['no role at all', [], /no project/],
])('row: project of a call, %s → UNAUTHENTICATED', (_case, roles, details) => {
  expect(() => decideProject(undefined, roles, OWN)).toThrowError(
    expect.objectContaining({ code: status.UNAUTHENTICATED, details: expect.stringMatching(details) }),
  );
});
