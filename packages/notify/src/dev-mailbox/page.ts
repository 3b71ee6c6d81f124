import type { MailboxEntry, MailboxStanding } from '../store/store.ts'

/** What a provider may be made to answer in the mailbox. */
export const mailboxActions = ['delivered', 'opened', 'clicked', 'bounced', 'complained', 'unregistered'] as const

/** What the mailbox reports on a message. */
export type MailboxAction = (typeof mailboxActions)[number]

/** What the page's own policy allows: its style, its forms, and nothing else. */
export const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"

/** The mailbox as a page, newest first. */
export function mailboxPage(entries: readonly MailboxEntry[], standings: ReadonlyMap<string, MailboxStanding>): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mailbox · Gatehouse</title><style>${style}</style></head>
<body><main><h1>Mailbox</h1>
<p>What would have been sent, newest first. The buttons answer as the provider would.</p>
${entries.length === 0 ? '<p>Nothing yet.</p>' : entries.map((entry) => article(entry, standings.get(entry.id))).join('\n')}
</main></body></html>`
}

const style = `
:root { color-scheme: light dark; --text: light-dark(#1c1e21, #e6e6e3); --faint: light-dark(#555, #a5a8ad);
  --ground: light-dark(#f5f5f3, #16181b); --paper: light-dark(#fff, #212429); --line: light-dark(#ddd, #3a3e45);
  --blue: light-dark(#e4ecf7, #2b3f5c); --green: light-dark(#dff0e0, #234a2a); --red: light-dark(#f8e0de, #5c2b2b) }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: var(--text); background: var(--ground) }
main { max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
article { background: var(--paper); border: 1px solid var(--line); border-radius: 6px; padding: 1rem; margin: 1rem 0 }
article:target { outline: 2px solid var(--faint) }
h2 { font-size: 1.05rem; margin: 0 0 .25rem; overflow-wrap: anywhere } small { color: var(--faint); overflow-wrap: anywhere }
pre { white-space: pre-wrap; font: inherit; overflow-wrap: anywhere }
form { display: inline } button { font: inherit; font-size: .85rem; margin: 0 .25rem .25rem 0 }
b { background: var(--blue); border-radius: 4px; padding: 0 .4em; font-weight: 600 }
.state { float: right; margin-left: .25rem; border-radius: 4px; padding: 0 .5em; font-size: .85rem; background: var(--blue) }
.delivered, .opened, .clicked { background: var(--green) } .bounced, .dead { background: var(--red) }`

/** Where an entry stands on the page. */
export function anchorOf(id: string): string {
  return `m-${encodeURIComponent(id)}`
}

function article(entry: MailboxEntry, standing: MailboxStanding | undefined): string {
  const { id, channel, address, userId, at, content } = entry
  const actions = mailboxActions.filter(
    (action) => (action === 'unregistered') === (channel === 'push') || action !== 'unregistered',
  )
  return `<article id="${escapeHtml(anchorOf(id))}">${badges(standing)}<h2><b>${channel}</b> ${escapeHtml(content.subject ?? content.body.slice(0, 80))}</h2>
<small>to ${escapeHtml(address)} (${escapeHtml(userId)}), ${new Date(at).toISOString()}</small>
<pre>${escapeHtml(content.body)}</pre>
${actions.map((action) => button(id, action)).join('')}</article>`
}

function badges(standing: MailboxStanding | undefined): string {
  const state = standing?.state === undefined ? '' : `<span class="state ${standing.state}">${standing.state}</span>`
  return `${standing?.deadToken ? '<span class="state dead">token dead</span>' : ''}${state}`
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
