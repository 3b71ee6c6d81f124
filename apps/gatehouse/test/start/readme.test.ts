import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { started } from '../support/program.ts'

const readme = readFileSync(join(import.meta.dirname, '../../../../README.md'), 'utf8')

/** The blocks of the README that ask the program something, but the one that waits a minute for its turn. */
function blocks(url: string): string[] {
  return [...readme.matchAll(/^```\n(.*?)^```$/gms)]
    .flatMap(([, block]) => block ?? [])
    .filter((block) => block.includes('curl ') && !block.startsWith('sleep'))
    .map((block) => block.replaceAll('http://localhost:8080', url))
}

test('the lines of the README do what it says when they are pasted one after the other', async () => {
  const program = await started({})
  const secret = /client +demo +secret (\S+)/.exec(program.stdout())?.[1] ?? assert.fail('no secret was printed')
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
  assert.equal((await program.stop()).code, 0)
})
