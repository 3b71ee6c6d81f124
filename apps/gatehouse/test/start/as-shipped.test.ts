import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { launch, type Program, root, started } from '../support/program.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The blocks of the README that ask the program something, but the one that waits a minute for its turn. */
function blocks(url: string): string[] {
  return [...readme.matchAll(/^```sh\n(.*?)^```$/gms)]
    .flatMap(([, block]) => block ?? [])
    .filter((block) => block.includes('curl ') && !block.startsWith('sleep'))
    .map((block) => block.replaceAll('http://localhost:8080', url))
}

describe('the program with the file and the engines that are shipped', () => {
  let program: Program
  let secret: string
  before(async () => {
    program = await started()
    secret = /client +demo +secret (\S+)/.exec(program.stdout())?.[1] ?? assert.fail('no secret was printed')
  })
  after(async () => assert.equal((await program.stop()).code, 0))

  test('the user of the file is an owner', () => {
    assert.match(program.stdout(), /user +alice .*administers as gatehouse-owner/)
  })

  test('a second process on the same folder ends with one clear line; the first one runs on', async () => {
    const second = await launch({ dataDir: program.dataDir })
    const { code, stderr } = await second.ended
    assert.equal(code, 1)
    assert.match(stderr, /^gatehouse: the data folder \S+ is in use by another process \(DATA_DIR\)\.\n$/)
    assert.equal((await fetch(`${program.url}/readyz`)).status, 200)
  })

  test('a producer sends more events a minute than its tier allows requests', async () => {
    const basic = Buffer.from(`demo:${secret}`).toString('base64')
    const answer = await fetch(`${program.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ event: 'order.shipped', user_id: 'nobody', data: { order_id: 'A-1' } })
    const send = () => fetch(`${program.url}/v1/notify`, { method: 'POST', headers, body })
    assert.equal((await send()).headers.get('x-ratelimit-limit'), '60000')
    for (let i = 0; i < 110; i++) assert.notEqual((await send()).status, 429)
    const read = await fetch(`${program.url}/users/alice`, { headers })
    assert.deepEqual([read.status, read.headers.get('x-ratelimit-limit')], [200, '100'])
  })

  test('the lines of the README do what it says when they are pasted one after the other', async () => {
    const script = blocks(program.url).join("\necho; echo '---'\n")
    const output = execFileSync('bash', ['-c', script], {
      encoding: 'utf8',
      env: { ...process.env, SECRET: secret },
      timeout: 120_000,
    })
    const [token, sent = '', why = '', limited = ''] = output.split('---\n')
    assert.equal(token?.trim(), '', 'the token is kept in a variable')
    const outcomes = (answer: string) =>
      (JSON.parse(answer) as { deliveries: { channel: string; outcome: string }[] }).deliveries.map(
        ({ channel, outcome }) => `${channel} ${outcome}`,
      )
    assert.deepEqual(outcomes(sent).sort(), ['email queued', 'in-app queued', 'push queued', 'sms queued'])
    const [quiet = '', explained = '', timeline = ''] = why.replaceAll('}{', '}\n{').trim().split('\n')
    assert.deepEqual(JSON.parse(quiet).quiet_hours, { start: '22:00', end: '07:00' })
    assert.ok(JSON.parse(explained).decisions.length > 0, explained)
    assert.equal(JSON.parse(timeline).event, 'order.shipped')
    const [statuses = '', ...responses] = limited.trim().split('\n')
    assert.match(statuses, /^(200 )+429( 429)* *$/)
    assert.match(responses.join('\n'), /^HTTP\/1.1 429.*x-ratelimit-limit: 100.*retry-after: \d+/is)
  })
})
