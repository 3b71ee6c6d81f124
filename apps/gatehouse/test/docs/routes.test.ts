import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createHttp, silentLog } from '@gatehouse/kit'
import { gatherApi } from '../../src/docs/routes.ts'

/** Serves `/openapi.json` of one operation and of the siblings. Returns how to read it, and how often it was written. */
async function setup(context: TestContext, siblings: Readonly<Record<string, string>>) {
  const http = createHttp({ log: silentLog })
  context.after(() => http.close())
  const serveReaders = await gatherApi(http, {
    version: '1',
    baseUrl: 'http://localhost',
    authUrl: 'http://localhost',
    issuer: undefined,
    limited: false,
    siblings,
    branding: {},
    site: { languages: [], bar: () => '' } as never,
  })
  await http.register(async (part) => {
    part.get('/here', { schema: { tags: ['operations'] } }, async () => ({}))
    await serveReaders()
  })
  const stringify = context.mock.method(JSON, 'stringify')
  const read = async () => {
    const { body, headers, rawPayload } = await http.inject('/openapi.json')
    assert.match(String(headers['content-type']), /^application\/json\b/)
    assert.equal(headers['content-length'], String(rawPayload.length))
    return Object.keys(JSON.parse(body).paths).sort()
  }
  const writes = () => stringify.mock.calls.filter(({ arguments: [value] }) => value?.openapi !== undefined).length
  return { read, writes }
}

test('the API document is written to text once, however often it is read', async (context) => {
  const { read, writes } = await setup(context, {})
  for (let i = 0; i < 3; i++) assert.deepEqual(await read(), ['/here', '/openapi.json'])
  assert.equal(writes(), 1)
})

test('a document joined with those of other processes is written once while these are good', async (context) => {
  const there = JSON.stringify({ openapi: '3.1.0', info: {}, paths: { '/there': { get: {} } } })
  let reads = 0
  const server = createServer((_request, response) => {
    reads++
    response.end(there)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const { read, writes } = await setup(context, { notify: `http://127.0.0.1:${port}` })
  const expected = ['/here', '/openapi.json', '/there']
  assert.deepEqual(await Promise.all([read(), read(), read()]), [expected, expected, expected])
  assert.deepEqual(await read(), expected)
  assert.deepEqual([reads, writes()], [1, 1])
})

test('a service that does not answer is asked again after two seconds, and not at every request', async (context) => {
  let reads = 0
  const server = createServer((_request, response) => {
    reads++
    response.writeHead(503).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const { read, writes } = await setup(context, { notify: `http://127.0.0.1:${port}` })
  let now = performance.now()
  context.mock.method(performance, 'now', () => now)
  for (let i = 0; i < 3; i++) assert.deepEqual(await read(), ['/here', '/openapi.json'])
  assert.deepEqual([reads, writes()], [1, 1])
  now += 2_001
  await read()
  assert.equal(reads, 2)
})
