import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { testWith } from '@gatehouse/testing'
import { type SnippetCall, snippetOf } from '../../../src/browser/screens/deliver/send/snippets.ts'

const run = promisify(execFile)
const body = {
  event: 'order.shipped',
  user_id: "o'brien",
  data: { text: 'a "quoted" $HOME `id` \\ ü\n', flag: true, none: null, list: [1, 2.5, {}], empty: [] },
  dedup_key: 'the-key',
}
const notify: SnippetCall = { method: 'POST', path: '/v1/notify', body, client: 'notify' }
const later = { fire_at: '2030-01-01T00:00:00.000Z', payload: body }
const schedule: SnippetCall = { method: 'POST', path: '/v1/scheduled', body: later, client: 'scheduled.create' }

describe('snippets of calls', () => {
  const received: { url: string; token: string; body: unknown }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', () => {
      received.push({ url: request.url ?? '', token: request.headers.authorization ?? '', body: JSON.parse(text) })
      response.writeHead(202, { 'content-type': 'application/json' }).end('{"id":"1","deliveries":[]}')
    })
  })
  before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  after(() => new Promise((resolve) => server.close(resolve)))

  const env = () => ({
    ...process.env,
    GATEHOUSE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    GATEHOUSE_TOKEN: 'the-token',
  })
  const root = join(import.meta.dirname, '../../../../..')
  const commands = {
    curl: ['sh', '-c'],
    Python: ['python3', '-c'],
    TypeScript: [process.execPath, '--input-type=module-typescript', '-e'],
  } as const

  const check = async (language: keyof typeof commands) => {
    for (const call of [notify, schedule]) {
      const [command, ...options] = commands[language]
      received.length = 0
      await run(command, [...options, snippetOf(language, call)], { env: env(), cwd: root })
      assert.deepEqual(received, [{ url: call.path, token: 'Bearer the-token', body: call.body }])
    }
  }
  testWith('curl', 'curl sends what is written, whatever the texts are', () => check('curl'))
  testWith('python3', 'Python sends what is written, whatever the texts are', () => check('Python'))
  test('TypeScript sends what is written, whatever the texts are', () => check('TypeScript'))
})
