import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { Page } from 'playwright-core'
import { consoleOfSuite } from '../../support/console.ts'
import { started } from '../../support/program.ts'

describe('a limit, from the draft to every gateway and back', () => {
  const { tab, program, faults, open, faultless, fitsPhone } = consoleOfSuite({
    start: () => started({ env: { GATEHOUSE_CONFIG: join(import.meta.dirname, 'limits.yaml') } }),
    first: ['/limits', 'Tiers and policies'],
    person: { username: 'owner', password: 'owner in the console' },
  })
  const draft = () => tab().getByRole('region', { name: 'Draft' })
  const confirm = async (name: string, comment: string) => {
    const dialog = tab().getByRole('dialog')
    await dialog.getByLabel('Why').fill(comment)
    await faultless(name)
    await dialog.getByRole('button', { name, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  /** The limit that the gateway answers to a user of the tier free. */
  const limitOfGateway = async () => {
    const answer = await fetch(`${program().url}/v1/users/owner/inbox`, { headers: { 'x-api-key': await key() } })
    await answer.text()
    return answer.headers.get('x-ratelimit-limit')
  }
  let apiKey: string | undefined
  const key = async () => {
    apiKey ??= (await createKey(tab())) ?? assert.fail('no key was created')
    return apiKey
  }
  /** Each gateway says in the console that it applies the version; then it does. */
  const applied = async (version: number) => {
    await open('/limits', 'Tiers and policies')
    await tab().getByText(`Version ${version} ·`).waitFor()
    await tab().getByText('applies on 1 of 1 gateways').waitFor()
  }

  testWith('chromium', 'a draft is simulated beside what applies, without a call to a server', async () => {
    await open('/limits/tiers/free', 'Tier free')
    await draft().getByLabel('Requests a minute').fill('3000')
    await draft().getByText('This can be activated.').waitFor()
    await draft().getByRole('button', { name: 'Simulate' }).click()
    const simulator = tab().getByRole('region', { name: 'Simulator' })
    await simulator.getByLabel('Requests a minute').fill('2500')
    await simulator.getByRole('button', { name: 'Run' }).click()
    const rejected = simulator.getByRole('row', { name: /^Rejected/ })
    await rejected.waitFor()
    const [present, drafted] = await rejected.locator('td').allInnerTexts()
    assert.match(present ?? '', /^[1-9][\d,]* \(/)
    assert.equal(drafted, '0 (0%)')
    await simulator.getByText('X-RateLimit-Limit: 3000').waitFor()
    await faultless('the simulator')
    await fitsPhone()
  })

  testWith('chromium', 'pasted events are simulated by route and caller, and faulty lines are named', async () => {
    await open('/limits/tiers/free', 'Tier free')
    await draft().getByLabel('Requests a minute').fill('3000')
    await draft().getByRole('button', { name: 'Simulate' }).click()
    const simulator = tab().getByRole('region', { name: 'Simulator' })
    await simulator.getByLabel('Traffic').selectOption('pasted')
    const text = [
      'time,user,method,route,count',
      '2026-01-05T09:00:00Z,alice,GET,/orders,2500',
      '2026-01-05T09:00:01Z,bob,POST,/orders,5',
      'yesterday,bob,POST,/orders,5',
    ]
    await simulator.getByLabel('Events').fill(text.join('\n'))
    await simulator.getByText('Events: 2. Requests: 2,505.').waitFor()
    await simulator.getByText('Line 4: expected a time: ISO 8601 or Unix, found yesterday').waitFor()
    await simulator.getByRole('button', { name: 'Run' }).click()
    const caller = simulator.getByRole('region', { name: 'By caller' }).getByRole('row', { name: /^user alice/ })
    await caller.waitFor()
    assert.deepEqual(await caller.locator('td').allInnerTexts(), ['user alice', '2,500', '500', '0'])
    const route = simulator.getByRole('region', { name: 'By route' }).getByRole('row', { name: /^POST/ })
    assert.deepEqual(await route.locator('td').allInnerTexts(), ['POST /orders', '5', '0', '0'])
    await faultless('pasted events')
    await fitsPhone()
  })

  testWith('chromium', 'what is not allowed is refused with the reason before it is sent', async () => {
    await draft().getByLabel('Sub-counters').fill('7')
    const field = draft().getByLabel('Requests a minute')
    await draft().getByText('must be a multiple of 7 shards', { exact: true }).waitFor()
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await faultless('a draft with a fault at its field')
    assert.ok(await draft().getByRole('button', { name: 'Activate' }).isDisabled())
    await draft().getByLabel('Sub-counters').fill('')
    await draft().getByText('This can be activated.').waitFor()
  })

  testWith('chromium', 'a draft runs in shadow and rejects nobody', async () => {
    assert.equal(await limitOfGateway(), '2000')
    await draft().getByRole('button', { name: 'Run in shadow' }).click()
    await confirm('Run in shadow', 'is 3000 enough?')
    await tab().getByRole('region', { name: 'In shadow' }).getByText('3,000 a minute').waitFor()
    await faultless('a tier with a shadow')
    await applied(2)
    assert.equal(await limitOfGateway(), '2000')
  })

  testWith('chromium', 'it is activated, and the gateway applies it without a restart', async () => {
    await open('/limits/tiers/free', 'Tier free')
    await tab().getByRole('button', { name: 'Take into the draft' }).click()
    await draft().getByText('This can be activated.').waitFor()
    await draft().getByRole('button', { name: 'Activate' }).click()
    await confirm('Activate', 'it is')
    await tab().getByText('Different from the file').waitFor()
    await applied(3)
    await tab().getByRole('row', { name: /^free/ }).getByText('differs from the file').waitFor()
    assert.equal(await limitOfGateway(), '3000')
  })

  testWith('chromium', 'whoever edits what somebody else has changed sees both and decides', async () => {
    await open('/limits/tiers/free', 'Tier free')
    await draft().getByLabel('Requests a minute').fill('4000')
    await draft().getByText('This can be activated.').waitFor()
    const status = await tab().evaluate(putTier, ['free', 3_500] as const)
    assert.equal(status, 200)
    await draft().getByRole('button', { name: 'Activate' }).click()
    const dialog = tab().getByRole('dialog')
    await dialog.getByRole('button', { name: 'Activate' }).click()
    const row = dialog.getByRole('row', { name: /^rpm/ })
    await row.waitFor()
    assert.deepEqual(await row.locator('td').allInnerTexts(), ['3500', '4000'])
    await faultless('a conflict')
    await dialog.getByRole('button', { name: 'Activate mine anyway' }).click()
    await dialog.waitFor({ state: 'detached' })
    await applied(5)
    assert.equal(await limitOfGateway(), '4000')
  })

  testWith('chromium', 'with the keyboard alone an earlier version is activated again', async () => {
    await open('/limits?tab=versions', 'Tiers and policies')
    await tab().getByRole('button', { name: 'Activate again: Version 1', exact: true }).focus()
    await tab().keyboard.press('Enter')
    const dialog = tab().getByRole('dialog')
    // A dialog takes the focus to its first button once it is open.
    await dialog.locator(':focus').waitFor()
    await dialog.getByRole('button', { name: 'Activate again' }).focus()
    await tab().keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await applied(6)
    await tab().getByRole('row', { name: /^free/ }).getByText('as in the file').waitFor()
    assert.equal(await limitOfGateway(), '2000')
  })

  testWith('chromium', 'one caller has another limit until a time, and it is ended', async () => {
    await open('/limits?tab=overrides', 'Tiers and policies')
    await tab().getByRole('button', { name: 'Set a limit' }).click()
    const dialog = tab().getByRole('dialog')
    await dialog.getByLabel('Kind').selectOption('key')
    await dialog.getByLabel('Id').fill(await hashOfKey(await key()))
    await dialog.getByLabel('Factor').fill('2')
    await dialog.getByLabel('Reason').fill('a migration')
    await faultless('the limit of a caller')
    await dialog.getByRole('button', { name: 'Set a limit' }).click()
    await tab().getByRole('cell', { name: 'a migration' }).waitFor()
    await becomes('4000')
    await tab()
      .getByRole('button', { name: /^End now/ })
      .click()
    await tab().getByRole('dialog').getByRole('button', { name: 'End now' }).click()
    await tab().getByText('No caller has a limit of its own.').waitFor()
    await becomes('2000')
  })

  testWith('chromium', 'no page broke a rule', () => assert.deepEqual(faults(), []))

  /** Waits until the gateway has read what changed, which takes up to 5 s. */
  const becomes = async (limit: string) => {
    const deadline = AbortSignal.timeout(15_000)
    while ((await limitOfGateway()) !== limit) assert.ok(!deadline.aborted, `the limit never became ${limit}`)
  }
})

async function hashOfKey(key: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))
  return Buffer.from(bytes).toString('base64url')
}

/** Runs in the page, as its person. */
async function putTier([name, rpm]: readonly [string, number]): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-console': '1' }
  const body = JSON.stringify({ declaration: { rpm } })
  const answer = await fetch(`/console/api/admin/v1/limit-settings/tiers/${name}`, { method: 'PUT', headers, body })
  return answer.status
}

/** An API key of the owner, with the plan free. */
async function createKey(page: Page): Promise<string | undefined> {
  return page.evaluate(async () => {
    const headers = { 'content-type': 'application/json', 'x-console': '1' }
    const body = JSON.stringify({ owner: 'owner', name: 'limited' })
    const answer = await fetch('/console/api/admin/v1/api-keys', { method: 'POST', headers, body })
    return ((await answer.json()) as { key?: string }).key
  })
}
