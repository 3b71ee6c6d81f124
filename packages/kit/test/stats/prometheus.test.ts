import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Problem, prometheusReader, Secret, type StatReader } from '../../src/index.ts'

const stepMs = 60_000
const query = { measure: 'a', from: 0, to: 3 * stepMs, stepMs }
const own: StatReader = { read: async () => [{ at: 0, labels: { from: 'here' }, value: 1 }] }

async function reading(t: { after(work: () => void): void }, answer: RequestListener, credentials = '') {
  const server = createServer(answer)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const url = new Secret(`http://${credentials}127.0.0.1:${port}/prom/`)
  const sources = {
    a: { metric: 'requests_total', labels: ['channel'], where: 'outcome="sent"' },
    seconds: { metric: 'seconds_bucket', labels: ['provider', 'le'] },
  }
  return prometheusReader({ url, sources, fallback: own })
}

const matrix = (result: object[]) => JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } })

test('a measure is read from Prometheus as the increase of each step', async (t) => {
  const requests: { url: URL; authorization: string | undefined }[] = []
  const reader = await reading(
    t,
    ({ url = '', headers }, response) => {
      requests.push({ url: new URL(url, 'http://prometheus'), authorization: headers.authorization })
      response.end(
        matrix([
          {
            metric: { channel: 'email' },
            values: [
              [60, '4.2'],
              [120, '0'],
              [180, '7'],
            ],
          },
        ]),
      )
    },
    'gate:house@',
  )
  assert.deepEqual(await reader.read(query), [
    { at: 0, labels: { channel: 'email' }, value: 4 },
    { at: 2 * stepMs, labels: { channel: 'email' }, value: 7 },
  ])
  const [request] = requests
  assert.equal(request?.authorization, `Basic ${Buffer.from('gate:house').toString('base64')}`)
  assert.equal(request?.url.pathname, '/prom/api/v1/query_range')
  assert.deepEqual(Object.fromEntries(request?.url.searchParams ?? []), {
    query: 'sum by (channel) (increase(requests_total{outcome="sent"}[60s]))',
    start: '60',
    end: '180',
    step: '60',
  })
})

test('of a histogram each bucket has its own count alone', async (t) => {
  const reader = await reading(t, (_request, response) => {
    const bucket = (le: string, value: string) => ({ metric: { provider: 'ses', le }, values: [[60, value]] })
    response.end(matrix([bucket('+Inf', '10'), bucket('0.1', '4'), bucket('1', '9')]))
  })
  const rows = await reader.read({ ...query, measure: 'seconds' })
  assert.deepEqual(
    rows.map(({ labels, value }) => [labels.le, value]),
    [
      ['0.1', 4],
      ['1', 5],
      ['+Inf', 1],
    ],
  )
})

test('what Prometheus does not have is read from the own history', async (t) => {
  const reader = await reading(t, (_request, response) => response.end('nothing'))
  assert.deepEqual(await reader.read({ ...query, measure: 'other' }), await own.read(query))
})

for (const [name, answer, status, words] of [
  ['refuses', '{"status":"error","error":"bad_data: unknown"}', 502, /refused the query: bad_data/],
  ['answers something else', '<html>', 502, /not JSON/],
] as const)
  test(`a Prometheus that ${name} is named in the error`, async (t) => {
    const reader = await reading(t, (_request, response) => response.end(answer))
    await assert.rejects(reader.read(query), (error: Problem) => error.status === status && words.test(error.message))
  })

test('a Prometheus that never answers is waited for no longer than five seconds', async (t) => {
  const reader = await reading(t, () => {})
  await assert.rejects(reader.read(query), (error: Problem) => error.status === 504 && /within 5 s/.test(error.message))
})

test('an answer without an end is cut off', async (t) => {
  const reader = await reading(t, (_request, response) => {
    const part = Buffer.alloc(1024 * 1024)
    const write = () => {
      while (!response.destroyed && response.write(part));
    }
    response.on('drain', write)
    write()
  })
  await assert.rejects(reader.read(query), (error: Problem) => error.status === 502 && /16 MiB/.test(error.message))
})
