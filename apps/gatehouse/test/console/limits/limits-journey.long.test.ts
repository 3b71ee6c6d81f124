import assert from 'node:assert/strict'
import { testWith } from '@gatehouse/testing'
import type { Page } from 'playwright-core'
import type { ConsoleTab } from '../../support/console.ts'
import { type Hands, keyboardOf, mouseOf } from '../hands.ts'
import { loaded } from '../page.ts'
import { type Answered, consoleOfOwner, importer, sendUntil, startWithOrders } from './orders.ts'

const limits = { name: 'Tiers and policies', letter: 'l' }
const callers = { name: 'Callers', letter: 'h' }

/** A platform engineer in the console. */
function engineer({ tab, heading }: ConsoleTab, hands: Hands) {
  const page = tab()
  const inDialog = () => page.getByRole('dialog')
  return {
    /** Finds the caller among those that are limited most. */
    async openCaller() {
      await hands.open(callers)
      await heading('Callers')
      await hands.press(page.getByRole('link', { name: 'importer' }).first())
      await heading('importer')
      await loaded(page)
    },
    async openTier() {
      await hands.open(limits)
      await heading('Tiers and policies')
      await hands.press(page.getByRole('row', { name: /^free/ }).getByRole('link', { name: 'free', exact: true }))
      await heading('Tier free')
      await loaded(page)
    },
    /** Waits until every gateway says that it applies a version. */
    async applied(version: number) {
      await hands.open(limits)
      await page.getByText(`Version ${version} ·`).waitFor()
      await page.getByText('applies on 1 of 1 gateways').waitFor()
    },
    async publish(name: string, comment: string) {
      await hands.press(page.getByRole('region', { name: 'Draft' }).getByRole('button', { name, exact: true }))
      await hands.write(inDialog().getByLabel('Why'), comment)
      await hands.press(inDialog().getByRole('button', { name, exact: true }))
      await inDialog().waitFor({ state: 'detached' })
    },
  }
}

interface Journey {
  readonly page: Page
  readonly opened: ConsoleTab
  readonly hands: Hands
  readonly user: ReturnType<typeof engineer>
  readonly send: () => Promise<Answered>
}

/** The complaint: "your API refuses us with 429". The caller's page says which rule does, and simulates the last hour. */
async function simulateTheCaller({ page, opened, hands, user, send }: Journey): Promise<void> {
  await sendUntil(send, { status: 429, limit: '3' })
  await user.openCaller()
  const rejected = page.getByRole('group', { name: 'Requests of this caller are rejected now' })
  await rejected.getByText(/^By free \(daily\): the next is allowed in [\d.]+ \w+\.$/).waitFor()
  await opened.faultless('a caller that is rejected')
  await hands.press(page.getByRole('region', { name: 'free' }).getByRole('link', { name: 'Simulate the last hour' }))
  const simulator = page.getByRole('region', { name: 'Simulator' })
  await simulator.getByText(/^\d+ requests, allowed and rejected ones alike$/).waitFor()
  const draft = page.getByRole('region', { name: 'Draft' })
  await hands.write(draft.getByLabel('Requests a day'), '10')
  await draft.getByText('This can be activated.').waitFor()
  await hands.press(simulator.getByRole('button', { name: 'Run' }))
  const row = simulator.getByRole('row', { name: /^Rejected/ })
  await row.waitFor()
  const [present, drafted] = await row.locator('td').allInnerTexts()
  assert.match(present ?? '', /^[1-9]/)
  assert.match(drafted ?? '', /^0 /)
  await opened.faultless('a recorded hour in the simulator')
}

/** In shadow the draft rejects nobody, and says what it would have rejected. */
async function runInShadow({ page, opened, hands, user, send }: Journey): Promise<void> {
  await user.publish('Run in shadow', 'is 10 enough for the importer?')
  await user.applied(2)
  await sendUntil(send, { status: 429, limit: '3' })
  await user.openTier()
  const shadow = page.getByRole('region', { name: 'In shadow' })
  await shadow.getByText(/^Of \d+ requests [1-9]\d* were rejected; with the shadow it would have been \d+\.$/).waitFor()
  await shadow.getByRole('row', { name: /^\/orders\/\* .* −[1-9]/ }).waitFor()
  await hands.pick(shadow.getByRole('radio', { name: 'Tier' }))
  await shadow.getByRole('row', { name: /^free / }).waitFor()
  await opened.faultless('a shadow with its figures')
}

async function activate({ page, hands, user, send }: Journey): Promise<void> {
  await hands.press(page.getByRole('button', { name: 'Take into the draft' }))
  await page.getByText('This can be activated.').waitFor()
  await user.publish('Activate', 'it is')
  await user.applied(3)
  await sendUntil(send, { limit: '10' })
}

/** The caller is let in at once, and then has a limit of its own for a while. */
async function helpTheCaller({ page, opened, hands, user, send }: Journey): Promise<void> {
  await sendUntil(send, { status: 429 })
  await user.openCaller()
  const rejected = page.getByRole('group', { name: 'Requests of this caller are rejected now' })
  await hands.press(rejected.getByRole('button', { name: 'Unblock' }))
  await page.getByText('The caller is let in again.').waitFor()
  await rejected.waitFor({ state: 'detached' })
  assert.equal((await send()).status, 200)
  const own = page.getByRole('region', { name: 'Limit of its own' })
  await hands.press(own.getByRole('button', { name: 'Set a limit' }))
  const dialog = page.getByRole('dialog')
  await hands.write(dialog.getByLabel('Factor'), '3')
  await hands.write(dialog.getByLabel('Reason'), 'a migration')
  await opened.faultless('the limit of a caller')
  await hands.press(dialog.getByRole('button', { name: 'Set a limit' }))
  await own.getByText(/^3 × the tier until /).waitFor()
  await own.getByText(/by owner, .*: a migration$/).waitFor()
  await sendUntil(send, { status: 200, limit: '30' })
  await hands.press(own.getByRole('button', { name: 'End now' }))
  await hands.press(dialog.getByRole('button', { name: 'End now' }))
  await own.getByText('None: the tier counts.').waitFor()
  await sendUntil(send, { limit: '10' })
}

for (const [name, handsOf] of [
  ['the mouse', mouseOf],
  ['the keyboard alone', keyboardOf],
] as const)
  testWith('chromium', `a limit is simulated, shadowed, activated, its caller unblocked: ${name}`, async (t) => {
    const program = await startWithOrders(t, 'daily-orders.yaml')
    const opened = await consoleOfOwner(t, program)
    const hands = handsOf(opened)
    const user = engineer(opened, hands)
    const journey = { opened, page: opened.tab(), hands, user, send: await importer(program) }
    await simulateTheCaller(journey)
    await runInShadow(journey)
    await activate(journey)
    await helpTheCaller(journey)
    assert.deepEqual(opened.faults(), [])
  })
