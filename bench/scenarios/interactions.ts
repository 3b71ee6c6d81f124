/**
 * Benchmark `interactions`: how long the console keeps a person waiting for what they press, in Chromium on this machine,
 * on a list of 10,000 notifications: from the key or the click to the next picture, as the Event Timing API has it
 * (interaction to next paint). The person pages to the end of what the list keeps, moves among the rows by key, selects,
 * types into a filter and opens and closes its details.
 *
 * `ours` is the number of interactions that could follow one another in a second at the 95th percentile; `peer` is the
 * same on a page of plain HTML without a script, whose rows are as many and whose details open by the browser alone: what
 * the machine and the browser take. The browser reports nothing below 16 ms; that counts as 16.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram, freePort, temporaryFolder } from '@gatehouse/testing'
import { chromium, type Page } from 'playwright-core'
import { type BenchmarkResult, quantileOf, timesAsMuch } from '../benchmark.ts'
import { type Program, startProgram } from '../program/program.ts'

const notifications = 10_000
const shownMs = 16
const pagings = 8
const moves = 60
const secret = 'a-secret-of-the-benchmark-0123456789'
const password = 'a-password-of-the-benchmark-0123456789'

const configuration = `
channels: { email: off, sms: off, push: off }
clients:
  - { client_id: bench, client_secret: ${secret}, grant_types: [client_credentials], scopes: [write:notifications], plan: unlimited }
users:
  - { id: alice, password: ${password}, roles: [gatehouse-owner] }
event_types:
  - { event: order.shipped, channels: [in-app] }
`

export async function benchmark(): Promise<BenchmarkResult> {
  const folder = temporaryFolder('interactions')
  const path = join(folder, 'gatehouse.yaml')
  writeFileSync(path, configuration)
  await using program = await startProgram(await freePort(), {
    GATEHOUSE_CONFIG: path,
    DATA_DIR: join(folder, 'data'),
  })
  await sendNotifications(program)
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
    await page.addInitScript(watchInteractions)
    const ours = await interactWithConsole(page, program)
    const rows = await page.locator('.rows tbody tr').count()
    const peer = await interactWithPlainPage(page, rows)
    return report(rows, ours, peer)
  } finally {
    await browser.close()
  }
}

/** The longest event of each interaction is the interaction. */
const watchInteractions = `
  globalThis.interactions = new Map()
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId) interactions.set(interactionId, Math.max(duration, interactions.get(interactionId) ?? 0))
  }).observe({ type: 'event', durationThreshold: ${shownMs}, buffered: true })`

async function sendNotifications({ url }: Program): Promise<void> {
  const answer = await fetch(`${url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`bench:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const events = Array.from({ length: notifications }, (_, n) =>
    JSON.stringify({ event: 'order.shipped', user_id: `user-${n % 1_000}`, data: { order_id: `A-${n}` } }),
  )
  const sent = await fetch(`${url}/v1/notify/bulk`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
    body: events.join('\n'),
  })
  if (!sent.ok) throw new Error(`${sent.status}: ${await sent.text()}`)
  await sent.text()
}

interface Interactions {
  readonly durations: readonly number[]
  readonly byKind: Readonly<Record<string, readonly number[]>>
}

/** Does something so often, and says how long each took until it was seen. */
async function timeEach(page: Page, count: number, act: () => Promise<void>): Promise<number[]> {
  await page.evaluate('interactions.clear()')
  for (let n = 0; n < count; n++) await act()
  await page.evaluate('new Promise((seen) => requestAnimationFrame(() => setTimeout(seen, 100)))')
  const reported = (await page.evaluate('[...interactions.values()]')) as number[]
  return [...reported, ...Array.from({ length: Math.max(0, count - reported.length) }, () => shownMs)]
}

function interactionsOf(byKind: Interactions['byKind']): Interactions {
  return { byKind, durations: Object.values(byKind).flat() }
}

async function interactWithConsole(page: Page, { url }: Program): Promise<Interactions> {
  // Its own name, which its cookies are for.
  await page.goto(`${url.replace('127.0.0.1', 'localhost')}/console/notifications`)
  await page.locator('input[name=username]').fill('alice')
  await page.locator('input[name=password]').fill(password)
  await page.locator('button[type=submit]').first().click()
  await page.getByRole('heading', { level: 1, name: 'Notifications' }).waitFor()
  await page.locator('.rows tbody tr').first().waitFor()
  const more = page.getByRole('button', { name: 'Continue the search' })
  const paging = await timeEach(page, pagings, async () => {
    await more.click()
    await page.locator('.searched button[data-loading]').waitFor({ state: 'detached' })
  })
  await page.locator('.rows tbody tr a').first().focus()
  const rows = await timeEach(page, moves, () => page.keyboard.press('j'))
  const filter = page.getByLabel('User', { exact: true })
  await filter.focus()
  const typing = await timeEach(page, moves, () => page.keyboard.press('a'))
  await filter.fill('')
  const search = page.getByRole('button', { name: 'Search', exact: true }).first()
  const dialog = await timeEach(page, 20, async () => {
    await search.click()
    await page.keyboard.press('Escape')
  })
  return interactionsOf({ paging, rows, typing, dialog })
}

async function interactWithPlainPage(page: Page, rows: number): Promise<Interactions> {
  const row = '<tr><td><a href="#a">24 Nov 2026, 16:05:55</a><td>order.shipped<td>user-1<td>in-app<td>normal</tr>'
  await page.goto('about:blank')
  await page.setContent(
    `<input aria-label="User"><details><summary>More</summary><p>Details</p></details><table>${row.repeat(rows)}</table>`,
  )
  await page.evaluate(watchInteractions)
  const paging = await timeEach(page, pagings, () => page.locator('summary').click())
  await page.locator('a').first().focus()
  const moving = await timeEach(page, moves, () => page.keyboard.press('Tab'))
  await page.getByLabel('User').focus()
  const typing = await timeEach(page, moves, () => page.keyboard.press('a'))
  const dialog = await timeEach(page, 20, () => page.locator('summary').click())
  return interactionsOf({ paging, rows: moving, typing, dialog })
}

function report(rows: number, ours: Interactions, peer: Interactions): BenchmarkResult {
  for (const [kind, durations] of Object.entries(ours.byKind))
    console.log(
      `${kind.padEnd(8)} p50 ${quantileOf(durations, 0.5)} ms, p95 ${quantileOf(durations, 0.95)} ms, max ${Math.max(...durations)} ms`,
    )
  const [oursMs, peerMs] = [quantileOf(ours.durations, 0.95), quantileOf(peer.durations, 0.95)]
  return {
    bench: 'interactions',
    ours: Math.round(1_000 / oursMs),
    peer: Math.round(1_000 / peerMs),
    ratio: timesAsMuch(peerMs, oursMs),
    unit: 'interactions/s at the 95th percentile',
    rows,
    p95_ms: oursMs,
    p95_ms_peer: peerMs,
    max_ms: Math.max(...ours.durations),
  }
}
