import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { feed, openInbox } from '../../support/inbox-page.ts'

const counted = (sequence: number, unread: number) => ({ sequence, total: 2, unseen: unread, unread })
const [onlyUnread, all] = ['[data-key="filter true"]', '[data-key="filter false"]']

/** What the stream sends of a second item. */
const secondCame = {
  contentType: 'text/event-stream',
  body: `event: change\nid: 2\ndata: ${JSON.stringify({ ...feed(['alice-2']), counts: counted(2, 2) })}\n\n`,
}

/** The items that are shown, and those of them that are drawn as unread. */
async function shownIn(tab: Page) {
  const idsOf = (selector: string) =>
    tab.locator(selector).evaluateAll((items) => items.map((item) => item.getAttribute('data-id')))
  return { items: (await idsOf('li.item')).sort(), unread: (await idsOf('li.item.unread')).sort() }
}

describe('the inbox while something is asked for', () => {
  let browser: Browser | undefined
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath !== undefined) browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  after(() => browser?.close())

  /** An inbox that is open at its first item, and the stream that it waits at. */
  async function openAtFirst({ next }: { readonly next?: string } = {}) {
    const inbox = await openInbox(browser)
    await inbox.give('alice')
    await (await inbox.request('GET alice/inbox')).fulfill({ json: feed(['alice-1'], next) })
    const stream = await inbox.request('GET alice/inbox/stream')
    await inbox.tab.locator('.bell').click()
    const publishSecond = async () => {
      await stream.fulfill(secondCame)
      await inbox.tab.locator('li[data-id=alice-2]').waitFor()
    }
    return { ...inbox, publishSecond }
  }

  testWith('chromium', 'an item that comes while the list is read again stays, and so do the counts', async () => {
    const { tab, request, settled, publishSecond } = await openAtFirst()
    await tab.locator(onlyUnread).click()
    const pending = await request('GET alice/inbox')
    await publishSecond()
    await pending.fulfill({ json: feed(['alice-1']) })
    await settled()
    assert.deepEqual((await shownIn(tab)).items, ['alice-1', 'alice-2'])
    assert.equal(await tab.locator('.badge').textContent(), '2')
    const again = await request('GET alice/inbox')
    assert.match(again.request().url(), /unread=true/)
    await again.fulfill({ json: { ...feed(['alice-2']), counts: counted(3, 1) } })
    await tab.locator('li[data-id=alice-1]').waitFor({ state: 'detached' })
    assert.deepEqual((await shownIn(tab)).items, ['alice-2'])
    await tab.close()
  })

  testWith('chromium', 'a list that stays older than what came is requested three times', async () => {
    const { tab, request, settled, unanswered, publishSecond } = await openAtFirst()
    await tab.locator(onlyUnread).click()
    const pending = await request('GET alice/inbox')
    await publishSecond()
    await pending.fulfill({ json: feed(['alice-1']) })
    for (let more = 0; more < 2; more++) await (await request('GET alice/inbox')).fulfill({ json: feed(['alice-1']) })
    await tab.locator('li[data-id=alice-2]').waitFor({ state: 'detached' })
    await settled()
    assert.ok(!unanswered().includes('GET alice/inbox'))
    await tab.close()
  })

  testWith('chromium', 'an answer to a filter that is no longer chosen is not shown', async () => {
    const { tab, request, settled } = await openAtFirst()
    await tab.locator(onlyUnread).click()
    const late = await request('GET alice/inbox')
    await tab.locator(all).click()
    await (await request('GET alice/inbox')).fulfill({ json: { ...feed(['alice-1', 'alice-2']) } })
    await tab.locator('li[data-id=alice-2]').waitFor()
    await late.fulfill({ json: { ...feed(['alice-1']), counts: counted(2, 1) } })
    await settled()
    assert.deepEqual((await shownIn(tab)).items, ['alice-1', 'alice-2'])
    await tab.close()
  })

  testWith('chromium', 'a further page that comes after another filter was chosen is not shown', async () => {
    const { tab, request, settled } = await openAtFirst({ next: 'older' })
    await tab.locator('[data-key=more]').click()
    const late = await request('GET alice/inbox')
    assert.match(late.request().url(), /cursor=older/)
    await tab.locator(onlyUnread).click()
    await (await request('GET alice/inbox')).fulfill({ json: feed(['alice-2'], 'older unread') })
    await tab.locator('li[data-id=alice-2]').waitFor()
    await late.fulfill({ json: feed(['alice-3']) })
    await settled()
    assert.deepEqual((await shownIn(tab)).items, ['alice-2'])
    await tab.locator('[data-key=more]').click()
    assert.match((await request('GET alice/inbox')).request().url(), /unread=true&cursor=older/)
    await tab.close()
  })

  testWith('chromium', 'an item that comes while all are marked as read is drawn as unread', async () => {
    const { tab, request, settled, publishSecond } = await openAtFirst()
    await tab.locator('[data-key=all]').click()
    const marking = await request('POST alice/inbox/read')
    assert.deepEqual(marking.request().postDataJSON(), { all: true, up_to: 1 })
    await publishSecond()
    await marking.fulfill({ json: { counts: counted(3, 1) } })
    await tab.locator('li.unread[data-id=alice-1]').waitFor({ state: 'detached' })
    await settled()
    assert.deepEqual(await shownIn(tab), { items: ['alice-1', 'alice-2'], unread: ['alice-2'] })
    await tab.close()
  })
})
