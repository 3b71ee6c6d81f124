import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { feed, openInbox } from '../../support/inbox-page.ts'

const first = feed(['alice-1'])
const offline = 'Not connected. Trying again…'

const event = (name: string, news: object) => ({
  contentType: 'text/event-stream',
  body: `event: ${name}\nid: 1\ndata: ${JSON.stringify(news)}\n\n`,
})

describe('the inbox where something is refused or fails', () => {
  let browser: Browser | undefined
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath !== undefined) browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  after(() => browser?.close())

  testWith('chromium', 'a page that may not use locks goes on, and reads its stream for itself', async () => {
    const headers = { 'content-security-policy': 'sandbox allow-scripts' }
    const { tab, give, request, settled } = await openInbox(browser, { headers })
    assert.equal(
      await tab.evaluate("navigator.locks.request('any', () => {}).then(() => 'granted', ({ name }) => name)"),
      'SecurityError',
    )
    void give('alice').catch(() => {})
    await (await request('GET alice/inbox')).fulfill({ json: first, headers: { 'access-control-allow-origin': '*' } })
    await request('GET alice/inbox/stream')
    await settled()
    await tab.close()
  })

  testWith('chromium', 'a page that may not speak to others reads its stream for itself', async () => {
    const script = `BroadcastChannel = class {
      constructor() {
        throw new DOMException('refused', 'SecurityError')
      }
    }`
    const { tab, give, request } = await openInbox(browser, { script })
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: first })
    await request('GET alice/inbox/stream')
    await tab.close()
  })

  testWith('chromium', 'a feed that is not answered within 30 seconds is asked for again', async () => {
    const { tab, give, request } = await openInbox(browser, { clock: true })
    await give('alice')
    const silent = await request('GET alice/inbox')
    const cancelled = tab.waitForEvent('requestfailed', (request) => request === silent.request())
    await tab.clock.fastForward(30_000)
    await cancelled
    await (await request('GET alice/inbox')).fulfill({ json: first })
    await request('GET alice/inbox/stream')
    await tab.close()
  })

  testWith('chromium', 'a token that does not come within 30 seconds is asked for again', async () => {
    const { tab, give, request, settled, unanswered } = await openInbox(browser, { clock: true })
    await tab.evaluate(`(() => {
      let asked = 0
      document.querySelector('gatehouse-inbox').getToken = () => asked++ === 0 ? new Promise(() => {}) : 'token'
    })()`)
    await give('alice')
    await settled()
    assert.deepEqual(unanswered(), [])
    await tab.clock.fastForward(30_000)
    await (await request('GET alice/inbox')).fulfill({ json: first })
    await request('GET alice/inbox/stream')
    await tab.close()
  })

  testWith('chromium', 'a change without an answer in 30 seconds is shown as failed, and can be repeated', async () => {
    const { tab, give, request } = await openInbox(browser, { clock: true })
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: first })
    await request('GET alice/inbox/stream')
    await tab.locator('.bell').click()
    await tab.locator('[data-key=all]').click()
    const silent = await request('POST alice/inbox/read')
    const cancelled = tab.waitForEvent('requestfailed', (request) => request === silent.request())
    await tab.clock.fastForward(30_000)
    await cancelled
    await tab.locator('.wrong').waitFor()
    await tab.locator('[data-key=all]').click()
    const counts = { ...first.counts, sequence: 2, unread: 0 }
    await (await request('POST alice/inbox/read')).fulfill({ json: { counts } })
    await tab.locator('.wrong').waitFor({ state: 'detached' })
    assert.equal(await tab.locator('li.unread').count(), 0)
    await tab.close()
  })

  testWith('chromium', 'a report of a click that is not answered within 30 seconds is given up', async () => {
    const { tab, give, request } = await openInbox(browser, { clock: true })
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: first })
    await request('GET alice/inbox/stream')
    const clicked = tab.evaluate(`document.querySelector('gatehouse-inbox')
      .clicked({ receipt_token: 'token' }, '/orders').catch(({ name }) => name)`)
    const silent = await request('POST /v1/receipts')
    const cancelled = tab.waitForEvent('requestfailed', (request) => request === silent.request())
    await tab.clock.fastForward(30_000)
    await cancelled
    assert.equal(await clicked, 'TimeoutError')
    await tab.close()
  })

  const notes = (tab: Page) => tab.locator('.note', { hasText: offline })
  const newItems = (tab: Page, count: number) => tab.locator('.badge', { hasText: new RegExp(`^${count}$`) }).waitFor()

  /** Two windows of one inbox: the first leads and has its feed, the second has only asked for it. */
  async function openTwo() {
    const context = await browser?.newContext()
    const leading = await openInbox(context)
    await leading.give('alice')
    await (await leading.request('GET alice/inbox')).fulfill({ json: first })
    const stream = await leading.request('GET alice/inbox/stream')
    const other = await openInbox(context)
    await other.give('alice')
    const firstRequest = await other.request('GET alice/inbox')
    await other.tab.locator('.bell').click()
    return { leading, stream, other, firstRequest, close: () => context?.close() }
  }

  testWith('chromium', 'a window that can not read the feed says so, and asks until it can', async () => {
    const { leading, other, firstRequest, close } = await openTwo()
    await firstRequest.fulfill({ status: 503 })
    await notes(other.tab).waitFor()
    const again = await other.request('GET alice/inbox')
    // What another window reads is no sign of life to one without a feed.
    await leading.tab.evaluate(`new Promise((resolve) => {
      const name = 'gatehouse-inbox https://shop.example alice'
      const heard = new BroadcastChannel(name)
      heard.onmessage = resolve
      new BroadcastChannel(name).postMessage({ open: true })
    })`)
    await other.settled()
    assert.equal(await notes(other.tab).count(), 1)
    await again.fulfill({ status: 503 })
    await (await other.request('GET alice/inbox')).fulfill({ json: first })
    await newItems(other.tab, 1)
    await notes(other.tab).waitFor({ state: 'detached' })
    await close()
  })

  testWith('chromium', 'a window that has to read the feed again asks for it until it is there', async () => {
    const { leading, stream, other, firstRequest, close } = await openTwo()
    await firstRequest.fulfill({ json: first })
    await newItems(other.tab, 1)
    await stream.fulfill(event('reset', { counts: first.counts }))
    await leading.request('GET alice/inbox')
    await (await other.request('GET alice/inbox')).fulfill({ status: 503 })
    await notes(other.tab).waitFor()
    await (await other.request('GET alice/inbox')).fulfill({ json: feed(['alice-1', 'alice-2']) })
    await newItems(other.tab, 2)
    await close()
  })

  testWith('chromium', 'what was seen and is refused is reported ever more rarely, and not shown', async () => {
    const { tab, give, request, settled, unanswered } = await openInbox(browser, { clock: true })
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: first })
    await request('GET alice/inbox/stream')
    await newItems(tab, 1)
    // All of this takes less than the 50 seconds after which a stream counts as broken.
    await tab.clock.pauseAt(new Date(Date.now() + 5_000))
    await tab.locator('.bell').click()
    await tab.evaluate(`new Promise((resolve) => {
      const item = document.querySelector('gatehouse-inbox').shadowRoot.querySelector('li.item')
      new IntersectionObserver(resolve).observe(item)
    })`)
    await tab.clock.runFor(1_000)
    for (const pause of [2_000, 4_000, 8_000, 16_000]) {
      await (await request('POST alice/inbox/seen')).fulfill({ status: 503 })
      await settled()
      assert.equal(await tab.locator('.wrong').count(), 0)
      assert.equal(await tab.locator('[role=status]').textContent(), '')
      await tab.clock.runFor(pause - 100)
      await settled()
      assert.deepEqual(unanswered(), [], `within ${pause} milliseconds`)
      await tab.clock.runFor(100)
    }
    const counts = { ...first.counts, unseen: 0 }
    await (await request('POST alice/inbox/seen')).fulfill({ json: { counts } })
    await tab.locator('.badge').waitFor({ state: 'hidden' })
    await tab.close()
  })
})
