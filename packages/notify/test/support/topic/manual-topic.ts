import type { StreamedEvent, Topic, TopicMessage } from '../../../src/model/work/topic.ts'

/** A topic that the test drives: it delivers a message any number of times and returns how each was answered. */
export function createManualTopic() {
  let handle: ((message: TopicMessage) => Promise<void>) | undefined
  const published: StreamedEvent[] = []
  const topic: Topic = {
    partitions: 1,
    reach: () => 'reached',
    async consume(handler) {
      handle = handler
      return { stop: async () => {} }
    },
    async publish(events) {
      published.push(...events)
    },
    ping: async () => {},
    close: async () => {},
  }
  /** Delivers a request, or a text as it stands; undefined stands for one that is not UTF-8. */
  const deliver = async (
    place: number,
    request: object | string | undefined,
    publishedAt?: number,
  ): Promise<string> => {
    const answered = Promise.withResolvers<string>()
    await handle?.({
      text: typeof request === 'object' ? JSON.stringify(request) : request,
      key: `NOTIFICATIONS:${place}`,
      place,
      ...(publishedAt === undefined ? {} : { publishedAt }),
      ack: () => answered.resolve('ack'),
      later: () => answered.resolve('later'),
      again: () => answered.resolve('later'),
      setAside: async () => answered.resolve('aside'),
      terminate: () => answered.resolve('terminate'),
    })
    return answered.promise
  }
  return { topic, deliver, published }
}
