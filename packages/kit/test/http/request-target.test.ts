import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createHttp, createLog } from '../../src/index.ts'

async function ask(url: string, head: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`${head}\r\nHost: x\r\nConnection: close\r\n\r\n`, 'latin1')
  return text(socket)
}

async function listening(after: (stop: () => Promise<void>) => void) {
  const lines: Record<string, unknown>[] = []
  const http = createHttp({ log: createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) }) })
  http.get('/open', async () => 'served')
  http.get('/users/:id', async () => 'served')
  const url = await http.listen({ port: 0, host: '127.0.0.1' })
  after(() => http.close())
  return { url, lines }
}

test('a request target that is no path of RFC 3986 is refused with 400 and served by nothing', async (t) => {
  const { url } = await listening((stop) => t.after(stop))
  for (const target of [
    '/open#/x',
    '/open#',
    '/open?a=1#b',
    '/users/a"b',
    '/users/a<b>',
    '/users/a|b',
    '/users/a^b',
    '/users/a`b',
    '/users/{a}',
    '/users/a\\b',
    '/users/\xe4',
    '/open?q=\xe4',
    '/open?q="x"',
    '/users/%zz',
    'http://other.example/open',
    '*',
  ]) {
    const answer = await ask(url, `GET ${target} HTTP/1.1`)
    assert.match(answer, /^HTTP\/1\.1 400 /, target)
    assert.ok(!answer.includes('served'), target)
  }
})

test('a request target that browsers send as it is passes', async (t) => {
  const { url } = await listening((stop) => t.after(stop))
  for (const target of ['/open?a[]=1&b={x}|y', '/open?100%', "/users/a.b-c_d~!$&'()*+,;=:@e", '/users/%C3%A4'])
    assert.match(await ask(url, `GET ${target} HTTP/1.1`), /^HTTP\/1\.1 200 /, target)
})

test('a query of escapes that ends with a wrong character is refused, however long it is', async (t) => {
  const { url } = await listening((stop) => t.after(stop))
  for (const target of [`/open?${'%aa'.repeat(4_000)}"`, `/open?${'%'.repeat(12_000)}#`, `/${'%aa'.repeat(4_000)}"`])
    assert.match(await ask(url, `GET ${target} HTTP/1.1`), /^HTTP\/1\.1 400 /)
  assert.match(await ask(url, `GET /open?${'%aa%'.repeat(3_000)} HTTP/1.1`), /^HTTP\/1\.1 200 /)
})

test('every log line of a request carries the address, whatever became of it', async (t) => {
  const { url, lines } = await listening((stop) => t.after(stop))
  const heads = [
    'GET /open HTTP/1.1',
    'GET /nowhere HTTP/1.1',
    'POST /open HTTP/1.1',
    'GET /open#x HTTP/1.1',
    'GET /users/%ff HTTP/1.1',
    'NOT HTTP',
  ]
  for (const head of heads) await ask(url, head)
  assert.deepEqual(
    lines.filter(({ msg }) => !String(msg).startsWith('Server listening')).map(({ status, ip }) => [status, ip]),
    [200, 404, 405, 400, 400, undefined].map((status) => [status, '127.0.0.1']),
  )
})
