import { useQuery } from '@tanstack/react-query'
import { actions } from '../../../actions/index.ts'
import { callOperation } from '../../api/call.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { State, Time, Words } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

const [soonMs, laterMs] = [1_500, 20_000]

/** The live processes that apply limits, read again until all of them apply the active version. */
export function useGateways(active: number) {
  const { operation } = actions.listLimitGateways
  return useQuery({
    queryKey: [operation],
    queryFn: async ({ signal }) => callOperation(operation, { limit: 200 }, { signal }),
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ version, fault }) => version !== active && fault === undefined) ? soonMs : laterMs,
  })
}

/** Which version applies in each live process, and why not the active one. */
export function Gateways({ active }: { active: number }) {
  const t = useTexts()
  const query = useGateways(active)
  return (
    <Answer action="listLimitGateways" query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty text={t.gateways.empty} />
        ) : (
          <Rows
            label={t.limits.tabs.gateways}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              { label: t.gateways.host, render: ({ host }) => host },
              { label: t.gateways.services, render: ({ services }) => <Words values={services} /> },
              {
                label: t.gateways.version,
                render: ({ version }) => (version === 0 ? t.gateways.file : t.limits.active(version)),
              },
              {
                label: t.limits.state,
                render: ({ version, fault }) => (
                  <>
                    <State tone={fault === undefined ? (version === active ? 'good' : 'careful') : 'bad'}>
                      {version === active ? t.gateways.current : t.gateways.behind}
                    </State>
                    {fault !== undefined && <div>{fault}</div>}
                  </>
                ),
              },
              { label: t.gateways.seen, render: (one) => <Time at={one.seen_at} /> },
            ]}
          />
        )
      }
    </Answer>
  )
}
