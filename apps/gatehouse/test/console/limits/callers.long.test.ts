import assert from 'node:assert/strict'
import { startRedis, testWith, testWithAll } from '@gatehouse/testing'
import { Person } from '../../../../console/test/support/person.ts'
import { everyLook } from '../../support/accessibility.ts'
import type { Program } from '../../support/program.ts'
import { loaded } from '../page.ts'
import { consoleOfOwner, importer, owner, sendUntil, startWithOrders } from './orders.ts'

const config = 'callers.yaml'

/** Reads orders a number of times, and returns the statuses. */
async function reader(program: Program): Promise<(times: number) => Promise<number[]>> {
  const send = await importer(program)
  return async (times) => {
    const statuses: number[] = []
    for (let n = 0; n < times; n++) statuses.push((await send()).status)
    return statuses
  }
}

testWith('chromium', 'a caller that was rejected is found, receives requests back, and is let in again', async (t) => {
  const program = await startWithOrders(t, 'daily-orders.yaml')
  const order = await reader(program)
  const { tab, faults, faultless } = await consoleOfOwner(t, program)
  assert.equal((await order(8)).at(-1), 429)
  await tab().getByRole('link', { name: 'Callers' }).click()
  const row = tab().getByRole('row').filter({ hasText: 'importer' })
  await row.getByText('free', { exact: true }).waitFor()
  await faultless('callers')
  await tab().getByRole('tab', { name: 'Last rejections' }).click()
  const rejection = tab().getByRole('row').filter({ hasText: 'importer' })
  await rejection.getByText('daily', { exact: true }).waitFor()
  await rejection.getByText('/orders/*', { exact: true }).waitFor()
  await rejection.getByRole('link', { name: 'importer' }).click()
  await tab().getByRole('heading', { level: 1, name: 'importer' }).waitFor()
  const standing = tab().getByRole('region', { name: 'free' })
  await standing.getByText('0 of 3 left').waitFor()
  await standing.getByText(/rejected for [\d.]+ \w+/).waitFor()
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

testWith('chromium', 'a client that gets a policy counts by it within seconds, until it is ended', async (t) => {
  const program = await startWithOrders(t, config)
  const send = await importer(program)
  await sendUntil(send, { limit: '3' })
  const { tab, faults, faultless, open } = await consoleOfOwner(t, program)
  const choose = async (policy: string) => {
    await open('/clients/importer/edit', 'Edit importer')
    await tab().getByLabel('Policy').selectOption(policy)
    await tab().getByRole('button', { name: 'Save', exact: true }).click()
    await tab().getByRole('heading', { level: 1, name: 'importer', exact: true }).waitFor()
  }
  await choose('identity')
  await sendUntil(send, { status: 200, limit: '100000' })
  await open('/limits/callers/client/importer', 'importer')
  await tab().getByText('client · policy identity', { exact: true }).waitFor()
  await tab().getByText('The client has the policy identity: it counts in place of tiers.').waitFor()
  await open('/limits/policies/identity', 'Policy identity')
  const bound = tab().getByRole('table', { name: 'Clients whose policy it is' })
  await bound.getByRole('link', { name: 'importer', exact: true }).waitFor()
  await faultless('a policy that a client has')
  await choose('')
  await sendUntil(send, { limit: '3' })
  await open('/limits/tiers/free', 'Tier free')
  const members = tab().getByRole('table', { name: 'Users, clients and API keys by their plan' })
  await members.getByRole('row', { name: /importer/ }).waitFor()
  await members.getByRole('row', { name: /owner/ }).waitFor()
  assert.deepEqual(faults(), [])
})

testWith('chromium', 'the rule of a request is found, with the reason and its upstream', async (t) => {
  const program = await startWithOrders(t, config)
  const order = await reader(program)
  assert.deepEqual(await order(1), [200])
  const { tab, faults, faultless } = await consoleOfOwner(t, program)
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
    startWithOrders(t, config, { REDIS_URL: redis.url }),
    startWithOrders(t, config, { REDIS_URL: redis.url }),
  ])
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) statuses.push((await fetch(`${other.url}/orders/public/1`)).status)
  assert.equal(statuses.at(-1), 429)
  // What a process recorded is in the shared history when it has stopped.
  await other.stop()
  const person = new Person(one.url)
  assert.equal((await person.signIn(owner.username, owner.password)).status, 200)
  const read = async (path: string) => (await (await person.api(path)).json()) as Record<string, unknown>
  const top = await read('/admin/v1/limits/top?policy=anonymous')
  assert.equal(top.scope, 'all')
  const [caller] = top.items as { kind: string; rejected: number }[]
  assert.ok(caller?.kind === 'ip' && caller.rejected >= 2, JSON.stringify(top))
  assert.equal(((await read('/admin/v1/limits/rejections?policy=anonymous')).items as object[]).length, caller.rejected)
  // Sign-in fails closed: nobody signs in while the store is gone.
  const { tab, faults, faultless } = await consoleOfOwner(t, one)
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
