import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { apiKey, call, clientCredentials, connect } from '../../src/index.ts'

/** A server on loopback that counts what it is asked for. */
async function listen(listener: RequestListener): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

describe('over real connections', () => {
  const elsewhere: (string | undefined)[] = []
  let api: Awaited<ReturnType<typeof listen>>
  let other: Awaited<ReturnType<typeof listen>>
  let cuts = 0
  before(async () => {
    other = await listen(({ headers, url = '' }, response) => {
      elsewhere.push(`${url} ${headers['x-api-key'] ?? headers.authorization}`)
      response.setHeader('content-type', 'application/json').end('{}')
    })
    api = await listen(({ url }, response) => {
      if (url === '/cut') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 9 }).write('{"a":')
        if (cuts++ === 0) return setImmediate(() => response.destroy())
        return response.end('1  }')
      }
      response.writeHead(307, { location: `${other.url}${url}` }).end()
    })
  })
  after(() => {
    for (const { server } of [api, other]) {
      server.closeAllConnections()
      server.close()
    }
  })

  test('a redirect takes neither a key nor a client secret to another server', async () => {
    const connection = connect({ baseUrl: api.url, credentials: apiKey('gk_1') })
    await assert.rejects(call(connection, { method: 'GET', path: '/here' }), { code: 'redirected' })
    const options = { issuer: api.url, tokenEndpoint: `${api.url}/token`, clientId: 'a', clientSecret: 'b' }
    const other = connect({ baseUrl: api.url, credentials: clientCredentials(options) })
    await assert.rejects(call(other, { method: 'GET', path: '/here' }), { code: 'redirected' })
    assert.deepEqual(elsewhere, [])
  })

  test('an answer that breaks off is a failed connection, and the next attempt reads it whole', async () => {
    const connection = connect({ baseUrl: api.url, random: () => 0 })
    await assert.rejects(call(connection, { method: 'POST', path: '/cut' }), { code: 'connection_failed' })
    cuts = 0
    assert.deepEqual(await call(connection, { method: 'GET', path: '/cut' }), { a: 1 })
    assert.equal(cuts, 2)
  })

  test('a server that is not there is a failed connection', async () => {
    const { url, server } = await listen(() => {})
    await new Promise((resolve) => server.close(resolve))
    const gone = connect({ baseUrl: url, maxAttempts: 1 })
    await assert.rejects(call(gone, { method: 'GET', path: '/' }), { code: 'connection_failed', retryable: true })
  })
})
