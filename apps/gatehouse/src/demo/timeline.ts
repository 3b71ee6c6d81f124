import type { Producer } from './producer.ts'

/** "Why?": everything that was decided about a notification and happened to it, one line each. */
export async function timelineOf(producer: Producer, id: string): Promise<string> {
  const { timeline } = await producer.patiently((gatehouse) => gatehouse.notifications.get({ id }))
  return timeline
    .map(({ at, what, channel = '', detail = {} }) => {
      const members = Object.entries(detail).map(([name, value]) => `${name}: ${formatValue(value)}`)
      return `  ${at.slice(11, 23)}  ${what.padEnd(12)} ${channel.padEnd(7)} ${members.join(', ')}`.trimEnd()
    })
    .join('\n')
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
