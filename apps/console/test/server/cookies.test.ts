import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatCookie, readCookie } from '../../src/server/cookies.ts'

test('over https a cookie is bound to the host, and to https', () => {
  const line = formatCookie('gatehouse-console', 'id', { secure: true, sameSite: 'Strict' })
  assert.equal(line, '__Host-gatehouse-console=id; Path=/; HttpOnly; SameSite=Strict; Secure')
})

test('over https a cookie without the prefix, which a sibling host could set, is not read', () => {
  assert.equal(readCookie('gatehouse-console=planted', 'gatehouse-console', true), undefined)
  assert.equal(readCookie('a=b; __Host-gatehouse-console=id', 'gatehouse-console', true), 'id')
  assert.equal(readCookie(undefined, 'gatehouse-console', true), undefined)
})
