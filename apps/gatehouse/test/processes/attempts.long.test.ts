import assert from 'node:assert/strict'
import { request } from 'node:http'
import { testWith } from '@gatehouse/testing'
import { type Supervised, startSupervised, workersOf } from '../support/processes.ts'

const processes = 3
const configuration = `
channels: { email: off, sms: off, push: off }
users: [{ id: alice, password: the-password-of-alice, plan: free }]
policies: { anonymous: { rpm: 100000 }, identity: { rpm: 100000 } }
`

interface Answer {
  readonly status: number
  readonly cookies: readonly string[]
  readonly text: string
}

/** A request on a connection of its own, so that each may reach another worker. */
function send(url: string, cookie: string, form?: URLSearchParams): Promise<Answer> {
  const method = form ? 'POST' : 'GET'
  const headers = { cookie, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }) }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      const { statusCode: status = 0, headers: received } = response
      const cookies = (received['set-cookie'] ?? []).map((line) => line.split(';', 1)[0] ?? '')
      response.on('end', () => resolve({ status, cookies, text }))
    })
    sent.on('error', reject).end(form?.toString())
  })
}

/** A browser of its own tries a wrong password; the status of the answer. */
async function guess({ url }: Supervised): Promise<number> {
  const { cookies, text } = await send(`${url}/account`, '')
  const form = new URLSearchParams({ username: 'alice', password: 'a guess of somebody else' })
  for (const [, name = '', value = ''] of text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g))
    form.set(name, value)
  return (await send(`${url}/login`, cookies.join('; '), form)).status
}

for (const [where, counters, env] of [
  ['Redis', /^ {2}Counters +Redis/m, {}],
  ['PostgreSQL', /^ {2}Counters +attempt limits in PostgreSQL/m, { SERVICES: 'identity', REDIS_URL: '' }],
] as const)
  testWith('postgresql', `sign-in attempts at all workers are counted together, in ${where}`, async (t) => {
    const program = await startSupervised(t, { processes, configuration, env, metrics: false })
    assert.equal(workersOf(program).length, processes)
    assert.match(program.stdout(), counters)
    const statuses = await Promise.all(Array.from({ length: 10 * processes }, () => guess(program)))
    assert.equal(statuses.filter((status) => status !== 429).length, 10, `of ${statuses.join()}`)
  })
