import { useRead } from '../../api/queries.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { State, Time, Words } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** The live processes that apply limits. */
export function useGateways() {
  return useRead('listLimitGateways', { limit: 200 })
}

/** Which version applies in each live process, and why not the active one. */
export function Gateways({ active }: { active: number }) {
  const t = useTexts()
  const query = useGateways()
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
