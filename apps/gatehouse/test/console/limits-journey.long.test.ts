import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { findProgram, testWith } from '@gatehouse/testing'
import { chromium, type Page } from 'playwright-core'
import { faultless } from '../support/accessibility.ts'
import { signInOnPages, watchFaults } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'
import { type Hands, keyboardOf, mouseOf } from './hands.ts'
import { loaded } from './page.ts'

type Context = { after(stop: () => unknown): void }

const limits = { name: 'Tiers and policies', letter: 'l' }
const callers = { name: 'Callers', letter: 'h' }

/** The program before an upstream that answers everything. */
async function startProgram(context: Context): Promise<Program> {
  const upstream = createServer((_request, response) => response.end('an order'))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  context.after(() => upstream.close())
  const program = await started({
    env: {
      GATEHOUSE_CONFIG: join(import.meta.dirname, 'callers.yaml'),
      ORDERS_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    },
  })
  context.after(() => program.stop())
  return program
}

async function openConsole(context: Context, { url }: Program): Promise<{ page: Page; faults: string[] }> {
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  context.after(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
  page.setDefaultTimeout(60_000)
  const faults = watchFaults(page, (text) => text.startsWith('Failed to load resource'))
  await page.goto(`${url}/console/`)
  await signInOnPages(page, 'owner', 'owner in the console')
  await page.getByRole('heading', { level: 1 }).waitFor()
  return { page, faults }
}

/** A client on the tier free, which sends orders: each answer has the status and the limit that it was told. */
async function importer({ url }: Program) {
  const authorization = `Basic ${Buffer.from('importer:importer-secret-0123456789').toString('base64')}`
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'read:orders' })
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const send = async () => {
    const { status, headers } = await fetch(`${url}/orders/7`, { headers: { authorization: `Bearer ${token}` } })
    return { status, limit: headers.get('x-ratelimit-limit') }
  }
  /** Sends until an answer is as expected; requests of a minute that ends count for nothing. */
  const sendUntil = async (expected: Partial<Awaited<ReturnType<typeof send>>>) => {
    const deadline = AbortSignal.timeout(20_000)
    for (let last = await send(); ; last = await send()) {
      if (Object.entries(expected).every(([name, value]) => last[name as keyof typeof last] === value)) return
      assert.ok(!deadline.aborted, `${JSON.stringify(last)} never became ${JSON.stringify(expected)}`)
    }
  }
  return { send, sendUntil }
}

/** A platform engineer in the console. */
function engineer(page: Page, hands: Hands) {
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
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
  readonly hands: Hands
  readonly user: ReturnType<typeof engineer>
  readonly orders: Awaited<ReturnType<typeof importer>>
}

/** The complaint: "your API refuses us with 429". The caller's page says which rule does, and simulates the last hour. */
async function simulateTheCaller({ page, hands, user, orders }: Journey): Promise<void> {
  await orders.sendUntil({ status: 429, limit: '3' })
  await user.openCaller()
  const rejected = page.getByRole('group', { name: 'Requests of this caller are rejected now' })
  await rejected.getByText(/^By free \(rpm\): the next is allowed in \d+ s\.$/).waitFor()
  await faultless(page, 'a caller that is rejected')
  await hands.press(page.getByRole('region', { name: 'free' }).getByRole('link', { name: 'Simulate the last hour' }))
  const simulator = page.getByRole('region', { name: 'Simulator' })
  await simulator.getByText(/^\d+ requests, allowed and rejected ones alike$/).waitFor()
  const draft = page.getByRole('region', { name: 'Draft' })
  await hands.write(draft.getByLabel('Requests a minute'), '10')
  await draft.getByText('This can be activated.').waitFor()
  await hands.press(simulator.getByRole('button', { name: 'Run' }))
  const row = simulator.getByRole('row', { name: /^Rejected/ })
  await row.waitFor()
  const [present, drafted] = await row.locator('td').allInnerTexts()
  assert.match(present ?? '', /^[1-9]/)
  assert.match(drafted ?? '', /^0 /)
  await faultless(page, 'a recorded hour in the simulator')
}

/** In shadow the draft rejects nobody, and says what it would have rejected. */
async function runInShadow({ page, hands, user, orders }: Journey): Promise<void> {
  await user.publish('Run in shadow', 'is 10 enough for the importer?')
  await user.applied(2)
  await orders.sendUntil({ status: 200, limit: '3' })
  await orders.sendUntil({ status: 429, limit: '3' })
  await user.openTier()
  const shadow = page.getByRole('region', { name: 'In shadow' })
  await shadow.getByText(/^Of \d+ requests [1-9]\d* were rejected; with the shadow it would have been \d+\.$/).waitFor()
  await shadow.getByRole('row', { name: /^\/orders\/\* .* −[1-9]/ }).waitFor()
  await hands.pick(shadow.getByRole('radio', { name: 'Tier' }))
  await shadow.getByRole('row', { name: /^free / }).waitFor()
  await faultless(page, 'a shadow with its figures')
}

async function activate({ page, hands, user, orders }: Journey): Promise<void> {
  await hands.press(page.getByRole('button', { name: 'Take into the draft' }))
  await page.getByText('This can be activated.').waitFor()
  await user.publish('Activate', 'it is')
  await user.applied(3)
  await orders.sendUntil({ limit: '10' })
}

/** The caller is let in at once, and then has a limit of its own for a while. */
async function helpTheCaller({ page, hands, user, orders }: Journey): Promise<void> {
  await orders.sendUntil({ status: 429 })
  await user.openCaller()
  const rejected = page.getByRole('group', { name: 'Requests of this caller are rejected now' })
  await hands.press(rejected.getByRole('button', { name: 'Unblock' }))
  await page.getByText('The caller is let in again.').waitFor()
  await rejected.waitFor({ state: 'detached' })
  assert.equal((await orders.send()).status, 200)
  const own = page.getByRole('region', { name: 'Limit of its own' })
  await hands.press(own.getByRole('button', { name: 'Set a limit' }))
  const dialog = page.getByRole('dialog')
  await hands.write(dialog.getByLabel('Factor'), '3')
  await hands.write(dialog.getByLabel('Reason'), 'a migration')
  await faultless(page, 'the limit of a caller')
  await hands.press(dialog.getByRole('button', { name: 'Set a limit' }))
  await own.getByText(/^3 × the tier until /).waitFor()
  await own.getByText(/by owner, .*: a migration$/).waitFor()
  await orders.sendUntil({ status: 200, limit: '30' })
  await hands.press(own.getByRole('button', { name: 'End now' }))
  await hands.press(dialog.getByRole('button', { name: 'End now' }))
  await own.getByText('None: the tier counts.').waitFor()
  await orders.sendUntil({ limit: '10' })
}

for (const [name, handsOf] of [
  ['the mouse', mouseOf],
  ['the keyboard alone', keyboardOf],
] as const)
  testWith('chromium', `a limit is simulated, shadowed, activated, its caller unblocked: ${name}`, async (t) => {
    const program = await startProgram(t)
    const orders = await importer(program)
    const { page, faults } = await openConsole(t, program)
    const hands = handsOf(page)
    const journey = { page, hands, user: engineer(page, hands), orders }
    await simulateTheCaller(journey)
    await runInShadow(journey)
    await activate(journey)
    await helpTheCaller(journey)
    assert.deepEqual(faults, [])
  })
