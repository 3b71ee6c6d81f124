import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseAmbiguousPath } from '../../src/routing/path.ts'

test('an unambiguous path is accepted', () => {
  for (const path of [
    '/',
    '/a/b',
    '/a/',
    '/a.b/..c/d..',
    '/a%20b',
    '/a;v=1/b',
    '/a%3Bv=1/b',
    '/a..%3bv/b',
    '/a/;v=1',
    '/;v=1',
    '/a/%3bv=1?x=/',
    '/a?x=../..//%2f\\',
    '/%61bc',
    '/.well-known/x',
  ])
    assert.doesNotThrow(() => refuseAmbiguousPath(path), path)
})

test('an ambiguous path is refused', () => {
  const paths = [
    '/public/../admin',
    '/public/./admin',
    '/public/%2e%2e/admin',
    '/public/.%2E/admin',
    '/public/..;x=1/admin',
    '/public/..%3b/admin',
    '/public/%2e%2E%3Bx=1/admin',
    '/public/.%3b/admin',
    '/public/..%253b/admin',
    '/public/admin%253Bx/1',
    '/public/..',
    '/public%2fadmin',
    '/public%5cadmin',
    '/public\\admin',
    '/public//admin',
    '/public/;/admin',
    '/public/;x/admin',
    '/public/%3bx=1/admin',
    '/public/%3B/',
    '/;x/admin',
    '//evil.example/x',
    '/public/%252e%252e/admin',
    'http://evil.example/',
    '*',
    '',
  ]
  for (const path of paths) assert.throws(() => refuseAmbiguousPath(path), { status: 400 }, path)
})
