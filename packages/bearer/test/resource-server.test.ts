import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { BearerError, wwwAuthenticate } from '../src/index.ts'
import { setup } from './support/issuer.ts'

test('a resource server on node:http accepts valid tokens and challenges others', async (t) => {
  const { bearer, token } = await setup()
  const server = createServer(async (request, response) => {
    try {
      const caller = await bearer.authenticate(request.headersDistinct, { scope: 'read:users' })
      response.end(`hello ${caller.subject}`)
    } catch (error) {
      if (!(error instanceof BearerError)) return void response.writeHead(500).end()
      const challenge = wwwAuthenticate(error, { realm: 'api' })
      response.writeHead(error.status, challenge ? { 'www-authenticate': challenge } : {}).end(error.message)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const ask = async (values: string[]) => {
    const { promise, resolve } = Promise.withResolvers<[number, string | null, string]>()
    const authorization = values.flatMap((value) => ['authorization', value])
    const headers = ['host', 'api.example', 'connection', 'close', ...authorization]
    const requesting = request(url, { headers }, async (response) => {
      const body = (await response.toArray()).join('')
      resolve([response.statusCode ?? 0, response.headers['www-authenticate'] ?? null, body])
    })
    requesting.end()
    return promise
  }
  const good = `Bearer ${await token()}`
  assert.deepEqual(await ask([good]), [200, null, 'hello alice'])
  assert.equal((await ask([]))[0], 401)
  assert.equal((await ask([]))[1], 'Bearer realm="api"')
  assert.equal((await ask([good, good]))[0], 400)
  assert.equal((await ask(['Bearer nonsense']))[0], 401)
  const [status, challenge] = await ask([`Bearer ${await token({ scope: 'read:other' })}`])
  assert.equal(status, 403)
  assert.match(challenge ?? '', /error="insufficient_scope".* scope="read:users"$/)
})
