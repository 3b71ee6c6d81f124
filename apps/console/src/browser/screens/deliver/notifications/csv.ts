import type { NotificationSummary } from '@gatehouse/client'

const header = ['id', 'accepted_at', 'event', 'user_id', 'priority', 'channel', 'outcome', 'state', 'ended', 'provider']

/** Notifications as CSV (RFC 4180), a row for each delivery, with a byte order mark so that spreadsheets read UTF-8. */
export function csvOf(notifications: readonly NotificationSummary[]): string {
  const rows = notifications.flatMap(({ id, accepted_at, event, user_id, priority, deliveries }) => {
    const whole = [id, accepted_at, event, user_id, priority]
    if (deliveries.length === 0) return [[...whole, '', '', '', '', '']]
    return deliveries.map(({ channel, outcome, state = '', ended = '', provider = '' }) => [
      ...whole,
      channel,
      outcome,
      state,
      ended,
      provider,
    ])
  })
  return `\ufeff${[header, ...rows].map((row) => row.map(cellOf).join(',')).join('\r\n')}\r\n`
}

/** A cell. What a spreadsheet would read as a formula begins with a quote, so that it is a text. */
function cellOf(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
