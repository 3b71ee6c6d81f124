import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isUnavailable, silentLog } from '@gatehouse/kit'
import { NodeWatch, type NodeWatchOptions } from '../../../src/postgres/nodes/node-watch.ts'
import { NodeUnavailable, type Probed } from '../../../src/postgres/nodes/watched-node.ts'
import { eventually } from '../../support/setup.ts'

const never = () => new Promise<never>(() => {})

/** A probe whose question is on its way at once, and its answer. */
const sending = (answer: () => Promise<Probed>) => (_node: string, onSent: () => void) => {
  onSent()
  return answer()
}

function watchWith(options: Partial<NodeWatchOptions>): NodeWatch {
  const times = { slowMs: 1, patienceMs: 1, probeEveryMs: 1 }
  return new NodeWatch({ probe: sending(never), maxAtOnce: 3, log: silentLog, ...times, ...options })
}

/** A node that answers its probes once it is told to. */
function createNode() {
  let answers = Promise.withResolvers<Probed>()
  let probes = 0
  return {
    probe: sending(() => {
      probes++
      return answers.promise
    }),
    answer: (probed: Probed = 'answers') => answers.resolve(probed),
    hang() {
      answers = Promise.withResolvers<Probed>()
    },
    get probes() {
      return probes
    },
  }
}

describe('the watch of database nodes', () => {
  test('slow work on a node that answers goes on', async () => {
    const slow = Promise.withResolvers<string>()
    const probed = Promise.withResolvers<void>()
    const watch = watchWith({
      patienceMs: 10_000,
      async probe() {
        probed.resolve()
        return 'answers'
      },
    })
    const running = watch.run('a', () => slow.promise)
    await probed.promise
    slow.resolve('done')
    assert.equal(await running, 'done')
    assert.equal(await watch.run('a', async () => 'further work'), 'further work')
  })

  test('work on a node that does not answer ends, and its signal aborts', async () => {
    const watch = watchWith({})
    let signal: AbortSignal | undefined
    const running = watch.run('a', (own) => {
      signal = own
      return never()
    })
    await assert.rejects(running, NodeUnavailable)
    await assert.rejects(running, isUnavailable)
    assert.equal(signal?.aborted, true)
  })

  test('work on a silent node is refused at once, until a probe is answered', async () => {
    const node = createNode()
    const watch = watchWith({ probe: node.probe })
    await assert.rejects(watch.run('a', never), NodeUnavailable)
    let begun = 0
    const work = async () => ++begun
    await assert.rejects(watch.run('a', work), NodeUnavailable)
    assert.equal(begun, 0)
    assert.equal(node.probes, 1, 'one probe waits for the answer')
    assert.equal(await watch.run('b', work), 1, 'another node is not concerned')
    node.answer()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(await watch.run('a', work), 2)
  })

  test('a node of which the coordinator gave up an answer is silent', async () => {
    const watch = watchWith({ patienceMs: 10_000, probe: sending(async () => 'silent') })
    await assert.rejects(watch.run('a', never), NodeUnavailable)
  })

  test('a node that refuses connections ends no work', async () => {
    const slow = Promise.withResolvers<string>()
    const node = createNode()
    const watch = watchWith({ patienceMs: 10_000, probe: node.probe })
    const running = watch.run('a', () => slow.promise)
    node.answer('refuses')
    await eventually(
      async () => node.probes,
      (probes) => probes >= 3,
    )
    assert.equal(await watch.run('a', async () => 'further work'), 'further work')
    slow.resolve('done')
    assert.equal(await running, 'done')
  })

  test('whoever listens hears that a silent node is back', async () => {
    const node = createNode()
    const watch = watchWith({ probe: node.probe })
    const returned = Promise.withResolvers<string>()
    watch.onReturn(returned.resolve)
    await assert.rejects(watch.run('a', never), NodeUnavailable)
    node.answer()
    assert.equal(await returned.promise, 'a')
    assert.equal(await watch.run('a', async () => 'work'), 'work')
  })

  for (const [fault, probe] of [
    ['refused connections', async (): Promise<Probed> => 'refuses'],
    ['could not be probed', () => Promise.reject(new Error('sorry, too many clients already'))],
  ] as const)
    test(`a node that ${fault} is probed after work failed, until it is back`, async () => {
      let isBack = false
      let probes = 0
      const watch = watchWith({
        probe: (_node, onSent) => {
          onSent()
          probes++
          return isBack ? Promise.resolve('answers') : probe()
        },
      })
      const returned = Promise.withResolvers<string>()
      const unsubscribe = watch.onReturn(returned.resolve)
      const failed = Object.assign(new Error('connection refused'), { code: '08006' })
      await assert.rejects(
        watch.run('a', () => Promise.reject(failed)),
        failed,
      )
      await eventually(
        async () => probes,
        (count) => count >= 3,
      )
      isBack = true
      assert.equal(await returned.promise, 'a')
      unsubscribe()
    })

  test('what fails on a node that refuses connections says so, with the cause', async () => {
    const node = createNode()
    node.answer('refuses')
    const watch = watchWith({ probe: node.probe })
    const cause = Object.assign(new Error('connection refused'), { code: '08006' })
    const fail = () => watch.run('a', () => Promise.reject(cause))
    await assert.rejects(fail, cause)
    await eventually(
      async () => node.probes,
      (probes) => probes === 1,
    )
    await assert.rejects(fail, (error) => error instanceof NodeUnavailable && error.cause === cause)
    const invalid = new Error('invalid')
    await assert.rejects(
      watch.run('a', () => Promise.reject(invalid)),
      invalid,
    )
  })

  test('work that fails on a node that answers is no return', async () => {
    const node = createNode()
    const watch = watchWith({ probe: node.probe })
    const returned: string[] = []
    watch.onReturn((name) => returned.push(name))
    node.answer()
    const failed = Object.assign(new Error('statement timeout'), { code: '57014' })
    await assert.rejects(
      watch.run('a', () => Promise.reject(failed)),
      failed,
    )
    await eventually(
      async () => node.probes,
      (probes) => probes === 1,
    )
    assert.deepEqual(returned, [])
  })

  test('work on several nodes ends with the first that falls silent, and is then refused at once', async () => {
    const silent = createNode()
    const watch = watchWith({
      probe: (node, onSent) => (node === 'b' ? silent.probe(node, onSent) : Promise.resolve('answers')),
    })
    let signal: AbortSignal | undefined
    const both = watch.runOnEach(['b', 'a'], (own) => {
      signal = own
      return never()
    })
    await assert.rejects(both, /node b does not answer/)
    assert.equal(signal?.aborted, true)
    let begun = 0
    const work = async () => ++begun
    await assert.rejects(watch.runOnEach(['a', 'b'], work), NodeUnavailable)
    assert.equal(begun, 0)
    assert.equal(await watch.runOnEach(['a', 'c'], work), 1)
  })

  test('a probe that gets no connection to the coordinator ends no work', async () => {
    const slow = Promise.withResolvers<string>()
    const probed = Promise.withResolvers<void>()
    const full = Object.assign(new Error('sorry, too many clients already'), { code: '53300' })
    const watch = watchWith({
      async probe() {
        probed.resolve()
        throw full
      },
    })
    const running = watch.run('a', () => slow.promise)
    await probed.promise
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(await watch.run('a', async () => 'further work'), 'further work')
    slow.resolve('done')
    assert.equal(await running, 'done')
  })

  test('the patience for an answer begins when the node is asked', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
    let ask = () => {}
    const watch = watchWith({
      probe(_node, onSent) {
        ask = onSent
        return never()
      },
    })
    const refused = assert.rejects(watch.run('a', never), NodeUnavailable)
    mock.timers.tick(1)
    mock.timers.tick(5_000)
    assert.equal(await watch.run('a', async () => 'further work'), 'further work')
    ask()
    mock.timers.tick(1)
    await refused
  })

  test('a node has no more work at once than its share, and the rest in turn', async () => {
    const watch = watchWith({ maxAtOnce: 2, slowMs: 10_000 })
    const pending = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
    const begun: number[] = []
    const works = pending.map(({ promise }, n) =>
      watch.run('a', () => {
        begun.push(n)
        return promise
      }),
    )
    assert.deepEqual(begun, [0, 1])
    assert.equal(await watch.run('b', async () => 'other'), 'other')
    pending[1]?.resolve()
    await works[1]
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(begun, [0, 1, 2])
    for (const open of pending) open.resolve()
    await Promise.all(works)
    assert.deepEqual(begun, [0, 1, 2, 3])
  })

  test('work that waits for its turn is refused when the node falls silent, or after a time', async () => {
    const silent = watchWith({ maxAtOnce: 1 })
    const [first, second] = [silent.run('a', never), silent.run('a', never)]
    await Promise.all([first, second].map((each) => assert.rejects(each, /does not answer/)))
    const busy = watchWith({ maxAtOnce: 1, slowMs: 10_000, maxWaitMs: 1 })
    const open = Promise.withResolvers<void>()
    const running = busy.run('a', () => open.promise)
    await assert.rejects(busy.run('a', never), /too much is under way/)
    open.resolve()
    await running
  })
})
