import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { isBlockedAddress, safeFetch } from '../../src/http/safe-fetch.ts'

test('a client-supplied URL is not fetched from private networks, redirected or read unbounded', async () => {
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '192.168.1.1',
    '::1',
    '::ffff:10.0.0.1',
    'fd00::1',
    'fe80::1',
    '0.0.0.0',
    '::',
    '::ffff:7f00:1',
    '192.31.196.1',
    '192.52.193.1',
    '192.175.48.1',
    '2620:4f:8000::1',
    '3fff::1',
    '5f00::1',
    '100:0:0:1::1',
  ]) {
    assert.ok(isBlockedAddress(address), address)
  }
  assert.ok(!isBlockedAddress('93.184.216.34') && !isBlockedAddress('2606:2800:220:1:248:1893:25c8:1946'))
  for (const address of [
    'http://example.com/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://[::ffff:127.0.0.1]/',
    'file:///etc/passwd',
  ]) {
    await assert.rejects(safeFetch(address), address)
  }
  const server = createServer((request, response) => {
    if (request.url === '/big') response.end('x'.repeat(200_000))
    else response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  assert.equal((await safeFetch(`${base}/`, { loopback: true })).status, 302)
  await assert.rejects(safeFetch(`${base}/big`, { loopback: true }), /larger/)
  server.close()
})

test('a body that drips is cut off at the timeout, which counts from the start', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200).write('x')
    const drip = setInterval(() => response.write('x'), 20)
    response.once('close', () => clearInterval(drip))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  await assert.rejects(safeFetch(address, { loopback: true, timeoutMs: 150 }), { name: /TimeoutError|AbortError/ })
  server.close()
})
