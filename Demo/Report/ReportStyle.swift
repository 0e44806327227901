/// The look of the report: light and dark, desk and phone.
enum ReportStyle {
    static let css = """
        :root { --bg: #fbfbfa; --card: #fff; --text: #1c1e21; --dim: #6a7078; --line: #e4e5e7; --grid: #eeeff0;
          --ok: #1f8a4c; --no: #c9302c; --cut: #b36b00; --link: #1f5fbf;
          --queued: #c9cdd3; --dns: #2aa198; --connect: #e8953a; --tls: #a06cd5; --send: #d9539b; --wait: #7cc47f; --receive: #2f6fde; --retry: #d9a400;
          --hatch: rgba(255,255,255,.62) }
        @media (prefers-color-scheme: dark) { :root { --bg: #15171a; --card: #1d2024; --text: #e6e8ea; --dim: #99a1ab; --line: #2e3238; --grid: #25292e;
          --ok: #53c383; --no: #ff6f69; --cut: #f0ad3d; --link: #7db0ff;
          --queued: #565d67; --dns: #2fb3a8; --connect: #d98a35; --tls: #a97de0; --send: #e57ab3; --wait: #5fae63; --receive: #4b88f0; --retry: #c79a1a;
          --hatch: rgba(0,0,0,.55) } }
        * { box-sizing: border-box }
        body { margin: 0 auto; padding: 28px 24px 40px; max-width: 1240px; background: var(--bg); color: var(--text);
          font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; -webkit-text-size-adjust: 100% }
        h1 { margin: 0; font-size: 26px; letter-spacing: -.02em } h2 { margin: 0; font-size: 16px }
        header p, .what, .hint, footer { margin: 4px 0 0; color: var(--dim) } .hint { font-size: 12px }
        .cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); gap: 12px; margin: 20px 0 }
        .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px }
        .card h2 { font-size: 12px; font-weight: 600; color: var(--dim) } .card b { font-size: 26px; letter-spacing: -.02em; font-variant-numeric: tabular-nums }
        .card p { margin: 2px 0 0; color: var(--dim); font-size: 12.5px } .card p > span { white-space: nowrap; margin-right: 4px }
        .card.good b, .card.saved b { color: var(--ok) } .card.bad b, .problem { color: var(--no) }
        .meter { display: block; height: 6px; margin-top: 8px; border-radius: 3px; overflow: hidden; background: var(--ok) } .meter span { display: block; height: 100%; background: var(--receive) }
        i { font-style: normal } i.ok { color: var(--ok) } i.no { color: var(--no) } i.cut { color: var(--cut) }
        section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; margin: 12px 0; overflow: hidden }
        .what { margin: 0 0 8px }
        .lanes { display: grid; grid-template-columns: 84px 1fr; gap: 5px 10px; align-items: center; margin: 8px 0 4px }
        .lanes a { color: var(--link); text-decoration: none; overflow: hidden; text-overflow: ellipsis }
        .lane { position: relative; height: max(16px, calc(var(--n) * 3.5px)); background: var(--grid); border-radius: 3px }
        .visit { position: absolute; top: 0; bottom: 0; background: var(--queued); opacity: .38; border-radius: 3px; min-width: 2px }
        .run { position: absolute; min-width: 2px } .run::after { content: ""; position: absolute; inset: 0; max-height: 6px; top: calc(50% - min(3px, 40%)); height: 80%; border-radius: 1px; background: var(--ok) }
        .run.no::after { background: var(--no) } .run.cut::after { background: var(--cut) } .run.open::after { background: var(--dim) }
        .legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 16px 2px 4px; font-size: 12.5px; color: var(--dim) }
        .legend .seg { position: static; display: inline-block; width: 18px; height: 10px; margin-right: 6px; vertical-align: -1px }
        .head, .row summary { display: grid; grid-template-columns: minmax(0, 1.15fr) 44px 76px 64px minmax(0, 1.7fr); column-gap: 12px; align-items: center }
        .head { color: var(--dim); font-size: 11.5px; padding-bottom: 3px; border-bottom: 1px solid var(--line) } .head > span:not(:first-child):not(.scale) { text-align: right }
        .row { border-bottom: 1px solid var(--grid) } .row:last-child { border-bottom: 0 }
        .row summary { cursor: pointer; list-style: none; padding: 3px 0; min-height: 28px } .row summary::-webkit-details-marker { display: none }
        .row summary:hover { background: var(--grid) } summary:focus-visible { outline: 2px solid var(--link); outline-offset: -2px }
        .name { overflow-wrap: anywhere; line-height: 1.3 } .name b { font-weight: 500 } .name em { font-style: normal; color: var(--dim); font-size: 11px }
        .name small { display: block; padding-left: 17px; color: var(--dim); font-size: 11.5px } .row.cut small { color: var(--cut) } .row.no small { color: var(--no) }
        .num { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; font-size: 12.5px }
        .chart { position: relative; height: 20px; display: block } .chart s { position: absolute; top: -8px; bottom: -8px; width: 1px; background: var(--grid) }
        .scale { position: relative; display: block; height: 15px; font-size: 11px; color: var(--dim); font-variant-numeric: tabular-nums }
        .scale span { position: absolute; transform: translateX(-50%); white-space: nowrap } .scale span:first-child { transform: none } .scale span.last { transform: translateX(-100%); left: 100% !important }
        .pictures { display: flex; flex-wrap: wrap; gap: 12px; margin: 0 0 12px } figure { margin: 0; max-width: 100% } figure img { display: block; border-radius: 4px; max-width: 100%; height: auto }
        figcaption { margin-top: 3px; color: var(--dim); font-size: 11.5px; line-height: 1.35 } figcaption b { color: var(--text); font-weight: 500 }
        .refused { width: 180px; height: 120px; display: grid; place-items: center; text-align: center; padding: 8px; border: 1px dashed var(--line); border-radius: 4px; color: var(--no); font-size: 12px }
        .seg { position: absolute; top: 4px; height: 12px; min-width: 1.5px; background: var(--c); --c: var(--receive) }
        .seg.queued { --c: var(--queued); top: 7px; height: 6px } .seg.dns { --c: var(--dns) } .seg.connect { --c: var(--connect) } .seg.tls { --c: var(--tls) }
        .seg.send { --c: var(--send) } .seg.wait { --c: var(--wait) } .seg.receive { --c: var(--receive) }
        .seg.retry { background: repeating-linear-gradient(90deg, var(--retry) 0 5px, transparent 5px 9px); top: 9px; height: 2px; min-width: 2px }
        .seg.cancelled { background: repeating-linear-gradient(-45deg, var(--c) 0 4px, var(--hatch) 4px 7px), var(--c); border-right: 2px solid var(--cut) }
        .seg.retry.cancelled { background: repeating-linear-gradient(90deg, var(--retry) 0 5px, transparent 5px 9px); top: 4px; height: 12px; background-size: 100% 2px; background-position: 0 50%; background-repeat: no-repeat }
        .seg.paused { background: var(--card); opacity: .8; top: 7px; height: 6px; min-width: 2px } .legend .seg.paused { border: 1px solid var(--dim); opacity: 1 }
        .legend .seg.queued { height: 6px; vertical-align: 1px } .legend .seg.retry { height: 2px; vertical-align: 4px }
        .closing { position: absolute; top: -8px; bottom: -8px; width: 0; border-left: 1.5px dashed var(--cut) }
        .facts { padding: 2px 0 10px 17px; color: var(--dim); font-size: 12.5px } .facts p { margin: 4px 0 0 }
        .wide { overflow-x: auto } table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums } th { font-weight: 500; color: var(--dim) }
        th, td { text-align: right; padding: 2px 14px 2px 0; white-space: nowrap } th:first-child, td.url, td:first-child { text-align: left } .facts td:nth-child(-n+4), .facts th:nth-child(-n+4) { text-align: left }
        footer { margin-top: 18px; font-size: 12.5px }
        @media (max-width: 720px) { body { padding: 18px 12px 28px } .cards { grid-template-columns: 1fr 1fr; gap: 8px } .card { padding: 10px 12px } .card b { font-size: 22px }
          section { padding: 12px 10px } .lanes { grid-template-columns: 66px 1fr; font-size: 12.5px } .head { grid-template-columns: 1fr } .head > span:not(.scale) { display: none }
          .row summary { grid-template-columns: minmax(0, 1fr) auto auto; column-gap: 10px; padding: 5px 0 }
          .row .num:nth-of-type(2) { display: none } .chart, .name small { grid-column: 1 / -1 } .chart { height: 16px; margin-top: 1px } .seg { top: 2px } .seg.queued, .seg.paused { top: 5px } .seg.retry { top: 7px }
          .chart s, .closing { top: 0; bottom: -4px } .scale span:nth-child(even) { display: none } }
        """
}
