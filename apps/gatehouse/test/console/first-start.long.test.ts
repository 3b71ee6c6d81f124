import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { runSnippet } from '../snippets/run.ts'
import { consoleOfSuite } from '../support/console.ts'
import { started } from '../support/program.ts'
import { loaded } from './page.ts'

describe('from the first start to a delivered message, in a browser', () => {
  const { tab, program, faults, faultless, heading, signIn } = consoleOfSuite({ start: started })

  /** Answers as the provider of the newest message would: it was delivered. */
  const deliver = async () => {
    const mailbox = (await tab().context().browser()?.newPage()) ?? assert.fail('there is no browser')
    await mailbox.goto(`${program().url}/dev/mailbox`)
    await mailbox.locator('#list a').first().click()
    await mailbox.getByRole('button', { name: 'Delivered' }).click()
    await mailbox.locator('.states .delivered.reached').waitFor()
    await mailbox.close()
  }

  testWith('chromium', 'a new owner makes a client, sends a notification and sees it delivered', async () => {
    const [, url = ''] = /Console +(\S+)/.exec(program().stdout()) ?? []
    await tab().goto(url)
    await signIn()
    await heading('Overview')
    await tab().getByRole('link', { name: 'Get started', exact: true }).click()
    await heading('Get started')
    const step = tab().getByRole('listitem').filter({ hasText: 'Send a first notification' })
    await step.getByRole('button', { name: 'Create a client that sends' }).click()
    const secret = ((await step.locator('code.secret').textContent()) ?? '').trim()
    const snippet = (await step.getByRole('region', { name: 'curl' }).textContent()) ?? ''
    assert.ok(secret.length > 30 && !snippet.includes(secret), 'the secret is in no program')
    await faultless('the secret of the first client')
    const sent = JSON.parse(await runSnippet('curl', snippet, { GATEHOUSE_CLIENT_SECRET: secret }))
    assert.ok(sent.deliveries.some(({ outcome }: { outcome: string }) => outcome === 'queued'))

    await step.getByRole('link', { name: 'See what becomes of it' }).click()
    await heading('Notifications')
    await tab().locator(`a[href$="${sent.id}"]`).first().click()
    await tab().waitForURL(new RegExp(sent.id))
    await deliver()
    await tab().getByText('delivered', { exact: true }).first().waitFor()

    await tab().goto(`${program().url}/console/start`)
    await heading('Get started')
    await loaded(tab())
    await step.getByText('done', { exact: true }).waitFor()
    assert.equal(await tab().getByText(secret).count(), 0, 'the secret is shown once')
    assert.deepEqual(faults(), [])
  })
})
