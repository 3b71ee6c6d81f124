import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@gatehouse/client'
import { fitsPath, parsePathTemplate, pathSegments } from '@gatehouse/kit'
import { ownRoutes } from '../../../src/compose/gateway/paths.ts'

const rules = ownRoutes({ identity: true, notify: true })

/** The rule of a request, as the gateway finds it: the first that fits. */
function ruleOf(method: string, path: string) {
  const segments = pathSegments(path) ?? assert.fail(path)
  return rules.find(
    (rule) => (rule.methods?.includes(method) ?? true) && fitsPath(parsePathTemplate(rule.path), segments),
  )
}

test('streams of a service elsewhere hold no connections of its other requests', () => {
  const streams = Object.values(operations).filter(({ stream, path }) => stream && path.startsWith('/v1/'))
  assert.ok(streams.length > 1)
  for (const { method, path } of streams) assert.equal(ruleOf(method, path)?.upstream, 'notify-streams', path)
  for (const path of ['/v1/notifications/{id}', '/v1/users/{id}/inbox'])
    assert.equal(ruleOf('GET', path)?.upstream, 'notify', path)
})
