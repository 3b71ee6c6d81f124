import type { Provider, SendResult } from '../../../src/index.ts'

/** Providers of SMS that give their answers one after the other, the last again and again, and the calls they got. */
export function createSmsProviders(answers: Readonly<Record<string, readonly SendResult[]>>) {
  const order: string[] = []
  const retried: boolean[] = []
  const providers = Object.entries(answers).map(([name, results]): Provider => {
    let calls = 0
    return {
      name,
      channel: 'sms',
      timeoutMs: 1_000,
      async send(messages) {
        return messages.map((message) => {
          order.push(name)
          retried.push(message.retried === true)
          return results[Math.min(calls++, results.length - 1)] as SendResult
        })
      },
    }
  })
  return { order, retried, providers }
}
