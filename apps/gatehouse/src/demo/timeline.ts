import type { Producer } from './producer.ts'
import type { Notification } from './settled.ts'

/** "Why?": everything that was decided about a notification and happened to it, one line each. */
export async function timelineOf(producer: Producer, id: string): Promise<string> {
  const { timeline } = (await producer.call('GET', `/v1/notifications/${id}`)) as Notification
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
