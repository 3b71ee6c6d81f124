import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { feed, openInbox } from '../../support/inbox-page.ts'

const choices = (title: string) => ({
  unsubscribed: false,
  event_types: [{ event: 'test', title, critical: false, channels: [{ channel: 'push', on: true }] }],
})

const shadow = "document.querySelector('gatehouse-inbox').shadowRoot"

/** All that the component shows, in sight or not. */
const shownIn = async (tab: Page) => String(await tab.evaluate(`${shadow}.innerHTML`))

describe('the inbox on a browser that another user takes over', () => {
  let browser: Browser | undefined
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath !== undefined) browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  after(() => browser?.close())

  const nothingOf = async (tab: Page, name: string) => {
    assert.doesNotMatch(await shownIn(tab), new RegExp(name))
    assert.equal(await tab.locator('.badge').isVisible(), false)
    assert.equal(await tab.locator('.bell').getAttribute('aria-label'), 'Notifications')
  }

  testWith('chromium', 'a first feed that answers late is not shown to the next user', async () => {
    const { tab, give, request, settled } = await openInbox(browser)
    await give('alice')
    const late = await request('GET alice/inbox')
    await give('bob')
    await (await request('GET bob/inbox')).fulfill({ json: feed([]) })
    await request('GET bob/inbox/stream')
    await late.fulfill({ json: feed(['alice-1']) })
    await settled()
    await tab.locator('.bell').click()
    await nothingOf(tab, 'alice')
    await tab.close()
  })

  testWith('chromium', 'what the list was asked for is not shown to the next user, and given up', async () => {
    const { tab, give, request, settled } = await openInbox(browser)
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: feed(['alice-1'], 'older') })
    await tab.locator('.bell').click()
    await tab.locator('[data-key=more]').click()
    const more = await request('GET alice/inbox')
    await tab.locator('[data-key="filter true"]').click()
    const unread = await request('GET alice/inbox')
    const cancelled = [more, unread].map((route) =>
      tab.waitForEvent('requestfailed', (request) => request === route.request()),
    )
    await give('bob')
    await Promise.all(cancelled)
    await (await request('GET bob/inbox')).fulfill({ json: feed([]) })
    await request('GET bob/inbox/stream')
    await more.fulfill({ json: feed(['alice-2']) })
    await unread.fulfill({ json: feed(['alice-1']) })
    await settled()
    await nothingOf(tab, 'alice')
    assert.equal(await tab.locator('.note').textContent(), 'Nothing here yet.')
    await tab.close()
  })

  testWith('chromium', 'without a user nothing is left: no item, count, words read aloud or fault', async () => {
    const { tab, give, request } = await openInbox(browser)
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: feed(['alice-1']) })
    const data = JSON.stringify({ ...feed(['alice-2']), counts: { sequence: 2, total: 2, unseen: 2, unread: 2 } })
    await (await request('GET alice/inbox/stream')).fulfill({
      contentType: 'text/event-stream',
      body: `event: change\nid: 2\ndata: ${data}\n\n`,
    })
    await tab.locator('[role=status]', { hasText: 'alice-2' }).waitFor({ state: 'attached' })
    await tab.locator('.bell').click()
    await tab.locator('[data-key="read alice-1"]').click()
    await (await request('POST alice/inbox/read')).fulfill({ status: 500 })
    await tab.locator('.wrong').waitFor()
    const unseen = await tab.evaluate(`(() => {
      const inbox = document.querySelector('gatehouse-inbox')
      let unseen
      inbox.addEventListener('gatehouse-counts', ({ detail }) => {
        unseen = detail.counts.unseen
      })
      inbox.getToken = undefined
      return unseen
    })()`)
    assert.equal(unseen, 0)
    await nothingOf(tab, 'alice')
    assert.equal(await tab.locator('.wrong').count(), 0)
    assert.equal(await tab.locator('[role=status]').textContent(), '')
    await tab.close()
  })

  testWith('chromium', 'another way to the token of the same user keeps what is shown', async () => {
    const { tab, give, request, settled } = await openInbox(browser)
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: feed(['alice-1']) })
    await tab.locator('.bell').click()
    await tab.locator('[data-key=preferences]').click()
    await (await request('GET alice/choices')).fulfill({ json: choices('For alice') })
    await tab.locator('fieldset', { hasText: 'For alice' }).waitFor()
    // As a framework does it that sets its properties whenever it draws.
    await tab.evaluate(`(() => {
      const inbox = document.querySelector('gatehouse-inbox')
      const draw = () => {
        inbox.getToken = () => 'alice'
      }
      globalThis.counted = [1]
      inbox.addEventListener('gatehouse-counts', ({ detail }) => {
        if (globalThis.counted.at(-1) === detail.counts.unseen) return
        globalThis.counted.push(detail.counts.unseen)
        draw()
      })
      draw()
    })()`)
    await (await request('GET alice/inbox')).fulfill({ json: feed(['alice-1', 'alice-2']) })
    await (await request('GET alice/inbox')).fulfill({ json: feed(['alice-1', 'alice-2']) })
    await request('GET alice/inbox/stream')
    await settled()
    assert.deepEqual(await tab.evaluate('globalThis.counted'), [1, 2])
    assert.match(await shownIn(tab), /For alice/)
    await tab.close()
  })

  testWith('chromium', 'a page that sets the token as it hears of the counts leaves one reader', async () => {
    const { tab, give, request, settled, unanswered } = await openInbox(browser)
    await tab.evaluate(`(() => {
      const inbox = document.querySelector('gatehouse-inbox')
      let isFirst = true
      inbox.addEventListener('gatehouse-counts', () => {
        if (isFirst) inbox.getToken = () => 'alice'
        isFirst = false
      })
    })()`)
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: feed(['alice-1']) })
    await request('GET alice/inbox/stream')
    await settled()
    assert.deepEqual(unanswered(), [])
    await tab.close()
  })

  testWith('chromium', 'a choice saved late is saved, and the next user sees their own choices', async () => {
    const { tab, give, request, settled } = await openInbox(browser)
    await give('alice')
    await (await request('GET alice/inbox')).fulfill({ json: feed([]) })
    await tab.locator('.bell').click()
    await tab.locator('[data-key=preferences]').click()
    await (await request('GET alice/choices')).fulfill({ json: choices('For alice') })
    await tab.locator('[data-key="test push"]').click()
    const saving = await request('PATCH alice/choices/test')
    await give('bob')
    await nothingOf(tab, 'alice')
    await (await request('GET bob/inbox')).fulfill({ json: feed([]) })
    await tab.locator('[data-key=preferences]').click()
    await (await request('GET bob/choices')).fulfill({ json: choices('For bob') })
    await tab.locator('fieldset', { hasText: 'For bob' }).waitFor()
    const saved = tab.waitForEvent('requestfinished', (request) => request === saving.request())
    await saving.fulfill({ json: choices('For alice') })
    await saved
    await settled()
    await tab.locator('fieldset', { hasText: 'For bob' }).waitFor()
    await nothingOf(tab, 'alice')
    await tab.close()
  })
})
