import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limitRules } from '../support/limits.ts'
import { administrators, consoleClient, tokenOf } from '../support/management/administrators.ts'
import { type Running, responseOf, type ServedRoute, service, serviceToken, setup } from '../support/setup.ts'

/*
 * Who may not call an operation learns nothing of what is wrong with the request: every one is sent parameters and a body
 * that are invalid.
 */

let running: Running
before(async () => {
  const declared = { clients: [consoleClient, service], users: administrators }
  running = await setup({ declared, limitRules: limitRules() })
})
after(() => running?.close())

const managing = () =>
  running.routes.filter(
    ({ method, url }) => /^\/(admin\/v1|organizations)(\/|$)/.test(url) && !['HEAD', 'OPTIONS'].includes(method),
  )

async function sendInvalid({ method, url }: ServedRoute, authorization?: string) {
  const invalid = `${url.replaceAll(/:\w+/g, '%00')}?limit=many&limit=few`
  const headers = { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) }
  const body = method === 'GET' ? {} : { payload: '{"' }
  return responseOf(await running.http.inject({ method: method as 'POST', url: invalid, headers, ...body }))
}

test('every operation of management answers 401 to an anonymous invalid request', async () => {
  const routes = managing()
  assert.ok(routes.length > 100, `${routes.length} routes`)
  for (const route of routes) {
    const { status, text } = await sendInvalid(route)
    assert.equal(status, 401, `${route.method} ${route.url}: ${text}`)
  }
})

test('every operation of management answers 403 to an invalid request without its scope', async () => {
  const authorization = `Bearer ${await serviceToken(running, 'write:notifications')}`
  for (const route of managing()) {
    const { status, text } = await sendInvalid(route, authorization)
    const expected = route.url === '/admin/v1/me' ? 200 : 403
    assert.equal(status, expected, `${route.method} ${route.url}: ${text}`)
  }
})

test('a caller with the scope learns what is wrong with a request', async () => {
  const authorization = `Bearer ${await tokenOf(running, 'gatehouse-owner')}`
  for (const url of ['/admin/v1/clients', '/admin/v1/users', '/admin/v1/organizations'])
    assert.equal((await sendInvalid({ method: 'POST', url }, authorization)).status, 400, url)
})
