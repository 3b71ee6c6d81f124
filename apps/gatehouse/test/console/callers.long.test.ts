import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startRedis, testWith, testWithAll } from '@gatehouse/testing'
import { Person } from '../../../console/test/support/person.ts'
import { everyLook } from '../support/accessibility.ts'
import { type ConsoleTab, openConsole } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'
import { loaded } from './page.ts'

type Context = { after(stop: () => unknown): void }

const password = 'owner in the console'

/** The program before an upstream that answers everything. */
async function startProgram(context: Context, env: Readonly<Record<string, string>> = {}): Promise<Program> {
  const upstream = createServer((_request, response) => response.end('an order'))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  context.after(() => upstream.close())
  const program = await started({
    env: {
      GATEHOUSE_CONFIG: join(import.meta.dirname, 'callers.yaml'),
      ORDERS_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
      ...env,
    },
  })
  context.after(() => program.stop())
  return program
}

async function signedIn(context: Context, program: Program): Promise<ConsoleTab> {
  const opened = await openConsole(context, program)
  await opened.tab().goto(`${program.url}/console/`)
  await opened.signIn({ username: 'owner', password })
  await opened.tab().getByRole('heading', { level: 1 }).waitFor()
  return opened
}

/** A client on the free tier that reads orders. */
async function importer({ url }: Program): Promise<(times: number) => Promise<number[]>> {
  const authorization = `Basic ${Buffer.from('importer:importer-secret-0123456789').toString('base64')}`
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'read:orders' })
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  return async (times) => {
    const statuses: number[] = []
    for (let n = 0; n < times; n++) {
      const { status } = await fetch(`${url}/orders/7`, { headers: { authorization: `Bearer ${token}` } })
      statuses.push(status)
    }
    return statuses
  }
}

testWith('chromium', 'a caller that was rejected is found, receives requests back, and is let in again', async (t) => {
  const program = await startProgram(t)
  const order = await importer(program)
  const { tab, faults, faultless } = await signedIn(t, program)
  // A minute that ends in between would let the caller in by itself.
  assert.equal((await order(8)).at(-1), 429)
  await tab().getByRole('link', { name: 'Callers' }).click()
  const row = tab().getByRole('row').filter({ hasText: 'importer' })
  await row.getByText('free', { exact: true }).waitFor()
  await faultless('callers')
  await tab().getByRole('tab', { name: 'Last rejections' }).click()
  const rejection = tab().getByRole('row').filter({ hasText: 'importer' })
  await rejection.getByText('rpm', { exact: true }).waitFor()
  await rejection.getByText('/orders/*', { exact: true }).waitFor()
  await rejection.getByRole('link', { name: 'importer' }).click()
  await tab().getByRole('heading', { level: 1, name: 'importer' }).waitFor()
  const standing = tab().getByRole('region', { name: 'free' })
  await standing.getByText('0 of 3 left').waitFor()
  await standing.getByText(/rejected for \d+ s/).waitFor()
  await standing.getByText('Counter keys').click()
  await standing
    .getByText(/^rl:client:importer:\d+$/)
    .first()
    .waitFor()
  await loaded(tab())
  await everyLook(tab(), (look) => faultless(`a caller, ${look}`))
  await tab().setViewportSize({ width: 1280, height: 800 })
  await standing.getByRole('button', { name: 'Give requests back: free' }).click()
  const dialog = tab().getByRole('dialog')
  await dialog.getByLabel('Requests').fill('2')
  await faultless('the dialog')
  await dialog.getByRole('button', { name: 'Give requests back' }).click()
  await standing.getByText('2 of 3 left').waitFor()
  assert.equal((await order(1)).at(0), 200)
  await tab().goto(`${program.url}/console/audit`)
  await tab().getByRole('row').filter({ hasText: 'limits.grant' }).filter({ hasText: 'owner' }).first().waitFor()
  assert.deepEqual(faults(), [])
})

testWith('chromium', 'the rule of a request is found, with the reason and its upstream', async (t) => {
  const program = await startProgram(t)
  const order = await importer(program)
  assert.deepEqual(await order(1), [200])
  const { tab, faults, faultless } = await signedIn(t, program)
  await tab().getByRole('link', { name: 'Routes' }).click()
  await tab().getByLabel('Path').fill('https://api.example.com/orders/7?x=1')
  await tab().getByRole('button', { name: 'Which rule matches?' }).click()
  await tab().getByText('The request goes to orders.').waitFor()
  await tab().getByText('matches: the first in order').waitFor()
  const upstream = tab().getByRole('table', { name: 'Upstreams' }).getByRole('row').filter({ hasText: 'orders' })
  await upstream.getByText('answers').waitFor()
  await everyLook(tab(), (look) => faultless(`routes, ${look}`))
  assert.deepEqual(faults(), [])
})

testWithAll(['redis-server', 'chromium'], 'processes share who was limited, and go on without the store', async (t) => {
  const redis = await startRedis()
  const [one, other] = await Promise.all([
    startProgram(t, { REDIS_URL: redis.url }),
    startProgram(t, { REDIS_URL: redis.url }),
  ])
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) statuses.push((await fetch(`${other.url}/orders/public/1`)).status)
  assert.equal(statuses.at(-1), 429)
  // What a process recorded is in the shared history when it has stopped.
  await other.stop()
  const owner = new Person(one.url)
  assert.equal((await owner.signIn('owner', password)).status, 200)
  const read = async (path: string) => (await (await owner.api(path)).json()) as Record<string, unknown>
  const top = await read('/admin/v1/limits/top?policy=anonymous')
  assert.equal(top.scope, 'all')
  const [caller] = top.items as { kind: string; rejected: number }[]
  assert.ok(caller?.kind === 'ip' && caller.rejected >= 2, JSON.stringify(top))
  assert.equal(((await read('/admin/v1/limits/rejections?policy=anonymous')).items as object[]).length, caller.rejected)
  // Sign-in fails closed: nobody signs in while the store is gone.
  const { tab, faults, faultless } = await signedIn(t, one)
  await redis.stop()
  await tab().goto(`${one.url}/console/limits/callers`)
  await tab().getByText('The counter store does not answer').waitFor()
  await tab()
    .getByText(/Counted by each process alone/)
    .waitFor()
  await faultless('the store is gone')
  assert.equal((await read('/admin/v1/limits/top')).scope, 'process')
  assert.deepEqual(faults(), [])
})
