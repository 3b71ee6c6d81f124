import type { MailboxEntry } from '../store.ts'

/** What a provider may be made to answer in the mailbox. */
export const mailboxActions = ['delivered', 'opened', 'clicked', 'bounced', 'complained', 'unregistered'] as const

export type MailboxAction = (typeof mailboxActions)[number]

/** What the page's own policy allows: its style, its forms, and nothing else. */
export const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"

/** The mailbox as a page, newest first. */
export function mailboxPage(entries: readonly MailboxEntry[]): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mailbox · Gatehouse</title><style>${style}</style></head>
<body><main><h1>Mailbox</h1>
<p>What would have been sent, newest first. The buttons answer as the provider would.</p>
${entries.length === 0 ? '<p>Nothing yet.</p>' : entries.map(article).join('\n')}
</main></body></html>`
}

const style = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: #1c1e21; background: #f5f5f3 }
main { max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
article { background: #fff; border: 1px solid #ddd; border-radius: 6px; padding: 1rem; margin: 1rem 0 }
h2 { font-size: 1.05rem; margin: 0 0 .25rem } small { color: #555 } pre { white-space: pre-wrap; font: inherit }
form { display: inline } button { font: inherit; font-size: .85rem; margin: 0 .25rem .25rem 0 }
b { background: #e4ecf7; border-radius: 4px; padding: 0 .4em; font-weight: 600 }`

function article(entry: MailboxEntry): string {
  const { id, channel, address, userId, at, content } = entry
  const actions = mailboxActions.filter(
    (action) => (action === 'unregistered') === (channel === 'push') || action !== 'unregistered',
  )
  return `<article><h2><b>${channel}</b> ${escapeHtml(content.subject ?? content.body.slice(0, 80))}</h2>
<small>to ${escapeHtml(address)} (${escapeHtml(userId)}), ${new Date(at).toISOString()}</small>
<pre>${escapeHtml(content.body)}</pre>
${actions.map((action) => button(id, action)).join('')}</article>`
}

function button(id: string, action: MailboxAction): string {
  const target = `/dev/mailbox/${encodeURIComponent(id)}/${action}`
  return `<form method="post" action="${escapeHtml(target)}"><button>${action}</button></form>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}
